#include "models/families/bloom/bloom.h"

#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_bloom(const JsonObject& json) {
  LayerNormDecoderKeys keys{.architecture = "BloomForCausalLM",
                            .context = "seq_length",
                            .inner = "n_inner",
                            .layers = "n_layer",
                            .heads = "n_head",
                            .activation = "activation_function",
                            .epsilon = "layer_norm_epsilon",
                            .embedding_dropout = nullptr,
                            .output_dropout = "hidden_dropout"};
  // Older names, which go before.
  if (json.has("n_embed")) keys.width = "n_embed";
  if (json.has("num_attention_heads")) keys.heads = "num_attention_heads";
  if (json.has("num_hidden_layers")) keys.layers = "num_hidden_layers";
  LayerNormDecoder d{.family = "bloom",
                     .names = {.tokens = "transformer.word_embeddings",
                               .tokens_norm = "transformer.word_embeddings_layernorm",
                               .layer = "transformer.h",
                               .first_norm = "input_layernorm",
                               .second_norm = "post_attention_layernorm",
                               .attention = "self_attention",
                               .fused = "query_key_value",
                               .attention_output = "self_attention.dense",
                               .inner = "mlp.dense_h_to_4h",
                               .outer = "mlp.dense_4h_to_h",
                               .last_norm = "transformer.ln_f"},
                     .vocabulary = 250880,
                     .width = 64,
                     .inner = 0,
                     .heads = 8,
                     .windows = std::vector<int64_t>(2),
                     .tied = true,
                     .linear_biases = true};
  read_layer_norm_decoder(json, d, keys);
  check(!boolean_or(json, "apply_residual_connection_post_layernorm", false),
        "{}: apply_residual_connection_post_layernorm is not supported", json.name());
  check(d.inner == 4 * d.width, "{}: n_inner {} is not 4 times the width {}; that is not supported", json.name(),
        d.inner, d.width);
  keys.width = "hidden_size", keys.heads = "n_head", keys.layers = "n_layer";
  return make_layer_norm_decoder(d, keys, nlohmann::json::object());
}

}  // namespace vkformer
