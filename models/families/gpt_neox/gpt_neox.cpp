#include "models/families/gpt_neox/gpt_neox.h"

#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"

namespace vkformer {

Model make_gpt_neox(const JsonObject& json) {
  constexpr LayerNormDecoderKeys keys{
      .architecture = "GPTNeoXForCausalLM", .embedding_dropout = "hidden_dropout", .output_dropout = "hidden_dropout"};
  LayerNormDecoder d{.family = "gpt_neox",
                     .names = {.tokens = "gpt_neox.embed_in",
                               .layer = "gpt_neox.layers",
                               .first_norm = "input_layernorm",
                               .second_norm = "post_attention_layernorm",
                               .attention = "attention",
                               .fused = "query_key_value",
                               .attention_output = "attention.dense",
                               .inner = "mlp.dense_h_to_4h",
                               .outer = "mlp.dense_4h_to_h",
                               .last_norm = "gpt_neox.final_layer_norm",
                               .head = "embed_out"},
                     .vocabulary = 50432,
                     .width = 6144,
                     .inner = 24576,
                     .heads = 64,
                     .windows = std::vector<int64_t>(44),
                     .activation = Activation::gelu};
  read_layer_norm_decoder(json, d, keys);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", true);
  const bool parallel = boolean_or(json, "use_parallel_residual", true);
  d.block = parallel ? LayerNormDecoder::Block::parallel : LayerNormDecoder::Block::sequential;
  const double share = read_rotary(json, d, "rotary_emb_base", "rotary_pct", 0.25);

  nlohmann::json more = {{"attention_bias", d.input_bias},
                         {"use_parallel_residual", parallel},
                         {"rotary_pct", share},
                         {"rotary_emb_base", d.rotary.theta},
                         {"rope_parameters", d.rotary.to_json()}};
  more["rope_parameters"]["partial_rotary_factor"] = share;
  d.rotary.add_scaling(more);
  return make_layer_norm_decoder(d, keys, more);
}

}  // namespace vkformer
