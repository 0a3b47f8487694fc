#include "models/families/xglm/xglm.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_xglm(const JsonObject& json) {
  constexpr const char* scale_key = "scale_embedding";
  constexpr LayerNormDecoderKeys keys{.architecture = "XGLMForCausalLM",
                                      .width = "d_model",
                                      .inner = "ffn_dim",
                                      .layers = "num_layers",
                                      .heads = "attention_heads",
                                      .activation = "activation_function",
                                      .epsilon = nullptr,
                                      .deviation = "init_std",
                                      .embedding_dropout = "dropout",
                                      .output_dropout = "dropout"};
  LayerNormDecoder d{.family = "xglm",
                     .names = {.tokens = "model.embed_tokens",
                               .layer = "model.layers",
                               .first_norm = "self_attn_layer_norm",
                               .second_norm = "final_layer_norm",
                               .attention = "self_attn",
                               .attention_output = "self_attn.out_proj",
                               .inner = "fc1",
                               .outer = "fc2",
                               .last_norm = "model.layer_norm"},
                     .vocabulary = 256008,
                     .width = 1024,
                     .inner = 4096,
                     .windows = std::vector<int64_t>(24),
                     .embedding_dropout = 0.1,
                     .attention_dropout = 0.1,
                     .output_dropout = 0.1,
                     .activation = Activation::gelu,
                     .tied = true,
                     .first_position = 2,
                     .sinusoids = true};
  read_layer_norm_decoder(json, d, keys);
  check(d.width >= 4, "{}: d_model {} is too narrow for sinusoids; at least 4 is needed", json.name(), d.width);
  // The row of padding is zeros: a token's where it does not lie before the first one.
  check(integer_or(json, "pad_token_id", 1, 0, d.vocabulary) < d.first_position,
        "{}: pad_token_id must be 0 or 1 for xglm, for its row of the positions is left out", json.name());
  const bool scaled = boolean_or(json, scale_key, true);
  if (scaled) d.embedding_scale = std::sqrt(static_cast<double>(d.width));
  for (const char* key : {"activation_dropout", "layerdrop"})
    check(number_or(json, key, 0, 0, 1) == 0, "{}: {} is not supported for xglm; 0 is", json.name(), key);
  check(!boolean_or(json, "add_cross_attention", false), "{}: add_cross_attention is not supported for xglm",
        json.name());
  return make_layer_norm_decoder(d, keys, {{scale_key, scaled}, {"activation_dropout", 0.0}, {"layerdrop", 0.0}});
}

}  // namespace vkformer
