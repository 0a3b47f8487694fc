#pragma once
// GPT-NeoX (Black et al. 2022; Pythia) with Hugging Face's config keys and tensor names: rotary positions on a part of
// each head, attention and feed-forward side by side on one residual.

#include "models/families/rotary.h"
#include "models/model.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct GptNeoxConfig {
  int64_t vocabulary = 50432;
  int64_t context = 2048;  ///< max_position_embeddings
  int64_t width = 6144;    ///< C, hidden_size
  int64_t inner = 24576;   ///< F, intermediate_size
  int64_t layers = 44;
  int64_t heads = 64;
  double rotary_share = 0.25;  ///< of each head's columns that turn: rotary_pct
  int64_t rotary_width = 24;   ///< the number of them, rounded down
  Activation activation = Activation::gelu;
  double epsilon = 1e-5;
  double deviation = 0.02;
  double attention_dropout = 0, hidden_dropout = 0;
  bool parallel_residual = true;  ///< x + attention(norm(x)) + feed_forward(norm(x))
  bool attention_bias = true;
  bool tied = false;
  RotaryConfig rotary;

  /// Throws Error naming file and key for values that can't be.
  static GptNeoxConfig from_json(const JsonObject& config);
  /// What `transformers` loads with GPTNeoXForCausalLM.from_pretrained.
  nlohmann::json to_json() const;
};

Model make_gpt_neox(const GptNeoxConfig& config);

}  // namespace vkformer
