#pragma once
// LLaMA (Touvron et al. 2023) and its kin Mistral (sliding window) and Qwen2 (biases of q, k, v), with Hugging Face's
// config keys and tensor names (linear weights are [out, in]): RMSNorm, rotary positions, SwiGLU, grouped queries.

#include "models/families/rotary.h"
#include "models/model.h"

namespace vkformer {

struct LlamaConfig {
  std::string family = "llama";  ///< or "mistral", "qwen2"
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
  bool input_bias = false;   ///< of q, k and v
  bool output_bias = false;  ///< of the attention's output
  bool inner_bias = false;   ///< of the feed-forward layers
  int64_t window = 0;        ///< a position sees itself and the window - 1 before it; 0: all before it
  int64_t first_window_layer = 0;
  bool tied = false;
  RotaryConfig rotary;

  /// Throws Error naming file and key for values that can't be.
  static LlamaConfig from_json(const JsonObject& config);
  /// What `transformers` loads with LlamaForCausalLM (MistralForCausalLM, Qwen2ForCausalLM).from_pretrained.
  nlohmann::json to_json() const;
};

Model make_llama(const LlamaConfig& config);

}  // namespace vkformer
