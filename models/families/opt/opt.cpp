#include "models/families/opt/opt.h"

#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_opt(const JsonObject& json) {
  constexpr LayerNormDecoderKeys keys{.architecture = "OPTForCausalLM",
                                      .inner = "ffn_dim",
                                      .activation = "activation_function",
                                      .epsilon = nullptr,
                                      .deviation = "init_std",
                                      .output_dropout = "dropout"};
  LayerNormDecoder d{.family = "opt",
                     .names = {.tokens = "model.decoder.embed_tokens",
                               .positions = "model.decoder.embed_positions",
                               .layer = "model.decoder.layers",
                               .first_norm = "self_attn_layer_norm",
                               .second_norm = "final_layer_norm",
                               .attention = "self_attn",
                               .attention_output = "self_attn.out_proj",
                               .inner = "fc1",
                               .outer = "fc2",
                               .last_norm = "model.decoder.final_layer_norm",
                               .project_in = "model.decoder.project_in",
                               .project_out = "model.decoder.project_out"},
                     .vocabulary = 50272,
                     .width = 768,
                     .inner = 3072,
                     .heads = 12,
                     .windows = std::vector<int64_t>(12),
                     .output_dropout = 0.1,
                     .activation = Activation::relu,
                     .tied = true,
                     .first_position = 2};
  read_layer_norm_decoder(json, d, keys);
  const bool before = boolean_or(json, "do_layer_norm_before", true);
  // Files of models that were tuned with the library's first versions.
  const bool removed = boolean_or(json, "_remove_final_layer_norm", false);
  d.block = before ? LayerNormDecoder::Block::sequential : LayerNormDecoder::Block::after;
  d.ends_with_norm = before && !removed;
  d.embedding_width = integer_or(json, "word_embed_proj_dim", d.width, 1, 1 << 20);
  d.input_bias = d.output_bias = d.inner_bias = boolean_or(json, "enable_bias", true);
  check(boolean_or(json, "layer_norm_elementwise_affine", true),
        "{}: layer_norm_elementwise_affine false, norms without gain and bias, is not supported for opt", json.name());
  return make_layer_norm_decoder(d, keys,
                                 {{"do_layer_norm_before", before},
                                  {"_remove_final_layer_norm", removed},
                                  {"word_embed_proj_dim", d.embedding_width},
                                  {"enable_bias", d.input_bias},
                                  {"layer_norm_elementwise_affine", true}});
}

}  // namespace vkformer
