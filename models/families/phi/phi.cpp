#include "models/families/phi/phi.h"

#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_phi(const JsonObject& json) {
  constexpr const char* share_key = "partial_rotary_factor";
  constexpr LayerNormDecoderKeys keys{.architecture = "PhiForCausalLM",
                                      .kv_heads = "num_key_value_heads",
                                      .embedding_dropout = "embd_pdrop",
                                      .output_dropout = "resid_pdrop"};
  LayerNormDecoder d{.family = "phi",
                     .names = {.tokens = "model.embed_tokens",
                               .layer = "model.layers",
                               .first_norm = "input_layernorm",
                               .attention = "self_attn",
                               .attention_output = "self_attn.dense",
                               .inner = "mlp.fc1",
                               .outer = "mlp.fc2",
                               .last_norm = "model.final_layernorm"},
                     .vocabulary = 51200,
                     .heads = 32,
                     .block = LayerNormDecoder::Block::one_norm,
                     .windows = std::vector<int64_t>(24),
                     .head_bias = true};
  read_layer_norm_decoder(json, d, keys);
  check(!boolean_or(json, "qk_layernorm", false), "{}: qk_layernorm is not supported for phi", json.name());
  const double share = read_rotary(json, d, "rope_theta", share_key, 0.5);

  nlohmann::json more = d.rotary.keys();
  more["rope_parameters"][share_key] = more[share_key] = share;
  more["qk_layernorm"] = false;
  return make_layer_norm_decoder(d, keys, more);
}

}  // namespace vkformer
