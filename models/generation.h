#pragma once
// Text generation with a decoder-only model: the prompt through one recorded program (prefill), then one token at a
// time through another (decode), over a key-value cache that stays on the device.

#include "models/model.h"

namespace vkformer {

struct SamplingSettings {
  double temperature = 1;  ///< 0: greedy
  int64_t top_k = 0;       ///< 0: off
  double top_p = 1;        ///< 1: off
  uint32_t seed = 0;
};

/// Chooses a token: temperature, then top-k, then top-p (nucleus), then a draw that depends only on (seed, draw).
/// Greedy takes the largest logit, the lower id on a tie.
int32_t sample(std::span<const float> logits, const SamplingSettings& settings, uint64_t draw);

class Generator {
 public:
  /// `capacity`: most positions, prompt and generated together (0: the model's context). `model` must outlive it.
  Generator(Backend& backend, const Model& model, int64_t capacity = 0);

  Store& store() { return *store_; }
  int64_t capacity() const { return capacity_; }
  int64_t position() const { return position_; }
  /// Runs the prompt from position 0 and gives the logits [V] after its last token. Throws Error when it is empty,
  /// longer than the capacity, or has an id outside the vocabulary.
  std::vector<float> prefill(std::span<const int32_t> prompt);
  /// Appends one token and gives the logits after it.
  std::vector<float> decode(int32_t token);
  /// The program that decode() replays; nullptr before the first call.
  const Program* decode_program() const { return decode_.get(); }
  const Program* prefill_program() const { return last_prefill_; }

 private:
  std::unique_ptr<Program> make_program(int64_t positions);
  std::vector<float> run(Program& program, std::span<const int32_t> tokens);

  Backend& backend_;
  const Model& model_;
  int64_t capacity_;
  int64_t position_ = 0;
  std::vector<ParameterBlock> blocks_;
  std::shared_ptr<Store> store_;
  std::map<int64_t, std::unique_ptr<Program>> prefills_;  ///< by padded length
  const Program* last_prefill_ = nullptr;
  std::unique_ptr<Program> decode_;
};

}  // namespace vkformer
