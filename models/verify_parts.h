#pragma once
// What the parts of `vkformer verify` share; internal to models/verify*.cpp.

#include "models/verify.h"
#include "runtime/files/safetensors.h"

namespace vkformer {

inline VerifyRow::Verdict verdict(bool passed) {
  return passed ? VerifyRow::Verdict::passed : VerifyRow::Verdict::failed;
}

inline std::vector<float> read_floats(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry& entry = file.require(name);
  std::vector<float> values(static_cast<size_t>(entry.elements()));
  file.read_floats(entry, values);
  return values;
}
inline std::vector<int32_t> read_ints(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry& entry = file.require(name);
  std::vector<int32_t> values(static_cast<size_t>(entry.elements()));
  file.read_ints(entry, values);
  return values;
}

/// Greedy and beam search of the case, where it has them: ids, logits of every step, scores of the hypotheses.
void verify_generation(Backend& backend, const std::filesystem::path& folder, const Model& model,
                       const JsonObject& recorded, const SafetensorsFile& expected,
                       const std::function<void(const VerifyRow&)>& report);

/// The query stream of the case (XLNet), where it has one: logits and loss of the predicted positions.
void verify_two_stream(Backend& backend, const Model& model, const std::shared_ptr<Store>& store,
                       const JsonObject& recorded, const SafetensorsFile& expected,
                       const std::function<void(const VerifyRow&)>& report);

/// Whether a folder has a tokenizer.json with its cases.json.
bool holds_tokenizer_case(const std::filesystem::path& folder);

/// Verifies the tokenizer of a folder; calls `report` once for each kind of comparison, whose name starts with
/// `prefix`. Throws Error when the files can't be read.
void verify_tokenizer(const std::filesystem::path& folder, const std::string& prefix,
                      const std::function<void(const VerifyRow&)>& report);

}  // namespace vkformer
