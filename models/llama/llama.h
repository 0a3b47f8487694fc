#pragma once
// LLaMA (Touvron et al. 2023) with Hugging Face's config keys and tensor names (linear weights are [out, in]): RMSNorm,
// rotary positions, SwiGLU, grouped queries.

#include "models/model.h"

namespace vkformer {

/// Which angles rotary positions use (Hugging Face: rope_parameters, or rope_theta and rope_scaling in older files).
struct RotaryConfig {
  enum class Scaling : uint8_t { none, linear, llama3 };
  double theta = 10000;
  Scaling scaling = Scaling::none;
  double factor = 1;
  double low_frequency_factor = 1, high_frequency_factor = 4;  ///< llama3
  double original_context = 8192;                              ///< llama3

  /// Radians a position turns pair i of `width` columns by.
  double frequency(int64_t i, int64_t width) const;
  /// Row p: width / 2 cosines, then width / 2 sines of position p.
  std::vector<float> table(int64_t positions, int64_t width) const;
};

struct LlamaConfig {
  int64_t vocabulary = 32000;
  int64_t context = 2048;  ///< max_position_embeddings
  int64_t width = 4096;    ///< C, hidden_size
  int64_t inner = 11008;   ///< F, intermediate_size
  int64_t layers = 32;
  int64_t heads = 32;
  int64_t kv_heads = 32;
  int64_t head_width = 128;  ///< D, head_dim; need not be C / heads
  double epsilon = 1e-6;
  double deviation = 0.02;
  double attention_dropout = 0;
  bool attention_bias = false, inner_bias = false;
  bool tied = false;
  RotaryConfig rotary;

  /// Throws Error naming file and key for values that can't be.
  static LlamaConfig from_json(const JsonObject& config);
  /// What `transformers` loads with LlamaForCausalLM.from_pretrained.
  nlohmann::json to_json() const;
};

Model make_llama(const LlamaConfig& config);

}  // namespace vkformer
