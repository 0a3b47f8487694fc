#pragma once
// GPT-2 (Radford et al. 2019) with Hugging Face's config keys, tensor names and layouts (Conv1D weights are [in, out]).

#include "models/families/encoder_head.h"
#include "models/model.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct Gpt2Config {
  int64_t vocabulary = 50257;
  int64_t context = 1024;  ///< n_positions
  int64_t width = 768;     ///< C, n_embd
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t inner = 3072;  ///< F, n_inner; 4 C when the config leaves it out
  Activation activation = Activation::gelu_tanh;
  double epsilon = 1e-5;
  double embedding_dropout = 0.1, attention_dropout = 0.1, residual_dropout = 0.1;
  double deviation = 0.02;                ///< initializer_range
  bool scale_attention = true;            ///< scores / sqrt(D)
  bool scale_attention_by_layer = false;  ///< scores / (layer + 1) as well
  bool tied = true;                       ///< the head is the token embedding
  /// Of texts, which it tells apart by their last states instead of writing them; without a head for tokens.
  std::optional<HeadClasses> classes = {};

  /// Throws Error naming file and key for values that can't be.
  static Gpt2Config from_json(const JsonObject& config);
  /// What `transformers` loads with from_pretrained.
  nlohmann::json to_json() const;
};

Model make_gpt2(const Gpt2Config& config);

}  // namespace vkformer
