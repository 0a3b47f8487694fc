#include "models/families/starcoder2/starcoder2.h"

#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_starcoder2(const JsonObject& json) {
  constexpr const char *window_key = "sliding_window", *share_key = "partial_rotary_factor";
  constexpr LayerNormDecoderKeys keys{.architecture = "Starcoder2ForCausalLM",
                                      .kv_heads = "num_key_value_heads",
                                      .epsilon = "norm_epsilon",
                                      .embedding_dropout = "embedding_dropout",
                                      .output_dropout = "residual_dropout"};
  LayerNormDecoder d{.family = "starcoder2",
                     .names = {.tokens = "model.embed_tokens",
                               .layer = "model.layers",
                               .first_norm = "input_layernorm",
                               .second_norm = "post_attention_layernorm",
                               .attention = "self_attn",
                               .attention_output = "self_attn.o_proj",
                               .inner = "mlp.c_fc",
                               .outer = "mlp.c_proj",
                               .last_norm = "model.norm"},
                     .vocabulary = 49152,
                     .context = 4096,
                     .width = 3072,
                     .inner = 12288,
                     .heads = 24,
                     .kv_heads = 2,
                     .windows = std::vector<int64_t>(30),
                     .deviation = 0.018042,
                     .tied = true};
  read_layer_norm_decoder(json, d, keys);
  d.input_bias = d.output_bias = d.inner_bias = boolean_or(json, "use_bias", true);
  const int64_t window = integer_or(json, window_key, 0, 1, int64_t{1} << 40);
  d.windows.assign(d.windows.size(), window);
  const double share = read_rotary(json, d, "rope_theta", share_key, 1);
  check(share == 1, "{}: {} {} is not supported; heads of starcoder2 turn as a whole", json.name(), share_key, share);

  nlohmann::json more = d.rotary.keys();
  more["use_bias"] = d.input_bias;
  more[window_key] = window > 0 ? nlohmann::json(window) : nlohmann::json();
  return make_layer_norm_decoder(d, keys, more);
}

}  // namespace vkformer
