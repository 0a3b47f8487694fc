#pragma once
// Models, operators and tokenizers against recorded outputs of another implementation (format:
// tests/fixtures/README.md). Of a model: hidden states, logits, attention weights, loss, every gradient, losses and
// weights of an AdamW run, greedy and beam search.

#include "models/model.h"

namespace vkformer {

/// One compared tensor.
struct VerifyRow {
  enum class Verdict : uint8_t { failed, passed, skipped };
  std::string tensor;
  double error = 0;  ///< in the units of `tolerance`
  double tolerance = 0;
  std::string how;  ///< "of the largest", "relative", "wrong ids"
  Verdict verdict = Verdict::failed;
  std::string note;  ///< why it failed or was skipped
};

/// Verifies a model's folder or GGUF file of which nothing is recorded: what `backend` makes of it beside the reference
/// (its logits, where it writes text those of a prompt and of some tokens after it), with weights in the types of a
/// GGUF file, else in f32.
void verify_beside_reference(Backend& backend, const std::filesystem::path& model,
                             const std::function<void(const VerifyRow&)>& report);

/// Verifies one case folder, of a model, of single operators where it has an ops.json, of a tokenizer where it has a
/// tokenizer.json and a cases.json, or of several such tokenizers; calls `report` for every tensor. A case that can't
/// be run gives one failed row with the reason.
void verify_case(Backend& backend, const std::filesystem::path& folder,
                 const std::function<void(const VerifyRow&)>& report);

}  // namespace vkformer
