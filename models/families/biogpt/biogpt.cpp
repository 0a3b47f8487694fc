#include "models/families/biogpt/biogpt.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_biogpt(const JsonObject& json) {
  constexpr const char* scale_key = "scale_embedding";
  constexpr LayerNormDecoderKeys keys{.architecture = "BioGptForCausalLM",
                                      .epsilon = nullptr,  // layer_norm_eps is not what its norms have
                                      .embedding_dropout = "hidden_dropout_prob",
                                      .attention_dropout = "attention_probs_dropout_prob",
                                      .output_dropout = "hidden_dropout_prob"};
  LayerNormDecoder d{.family = "biogpt",
                     .names = {.tokens = "biogpt.embed_tokens",
                               .positions = "biogpt.embed_positions",
                               .layer = "biogpt.layers",
                               .first_norm = "self_attn_layer_norm",
                               .second_norm = "final_layer_norm",
                               .attention = "self_attn",
                               .attention_output = "self_attn.out_proj",
                               .inner = "fc1",
                               .outer = "fc2",
                               .last_norm = "biogpt.layer_norm",
                               .head = "output_projection"},
                     .vocabulary = 42384,
                     .context = 1024,
                     .width = 1024,
                     .inner = 4096,
                     .windows = std::vector<int64_t>(24),
                     .embedding_dropout = 0.1,
                     .attention_dropout = 0.1,
                     .output_dropout = 0.1,
                     .activation = Activation::gelu,
                     .tied = true,
                     .first_position = 2};
  read_layer_norm_decoder(json, d, keys);
  const bool scaled = boolean_or(json, scale_key, true);
  if (scaled) d.embedding_scale = std::sqrt(static_cast<double>(d.width));
  for (const char* key : {"activation_dropout", "layerdrop"})
    check(number_or(json, key, 0, 0, 1) == 0, "{}: {} is not supported for biogpt; 0 is", json.name(), key);
  return make_layer_norm_decoder(d, keys, {{scale_key, scaled}, {"activation_dropout", 0.0}, {"layerdrop", 0.0}});
}

}  // namespace vkformer
