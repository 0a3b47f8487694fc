#include "models/families/gpt_bigcode/gpt_bigcode.h"

#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_gpt_bigcode(const JsonObject& json) {
  constexpr const char *shared_key = "multi_query", *scale_key = "scale_attn_weights";
  constexpr LayerNormDecoderKeys keys{.architecture = "GPTBigCodeForCausalLM",
                                      .context = "n_positions",
                                      .width = "n_embd",
                                      .inner = "n_inner",
                                      .layers = "n_layer",
                                      .heads = "n_head",
                                      .activation = "activation_function",
                                      .epsilon = "layer_norm_epsilon",
                                      .embedding_dropout = "embd_pdrop",
                                      .attention_dropout = "attn_pdrop",
                                      .output_dropout = "resid_pdrop"};
  LayerNormDecoder d{.family = "gpt_bigcode",
                     .names = {.tokens = "transformer.wte",
                               .positions = "transformer.wpe",
                               .layer = "transformer.h",
                               .first_norm = "ln_1",
                               .second_norm = "ln_2",
                               .attention = "attn",
                               .fused = "c_attn",
                               .attention_output = "attn.c_proj",
                               .inner = "mlp.c_fc",
                               .outer = "mlp.c_proj",
                               .last_norm = "transformer.ln_f"},
                     .context = 1024,
                     .width = 768,
                     .inner = 0,
                     .heads = 12,
                     .windows = std::vector<int64_t>(12),
                     .embedding_dropout = 0.1,
                     .attention_dropout = 0.1,
                     .output_dropout = 0.1,
                     .tied = true};
  read_layer_norm_decoder(json, d, keys);
  const bool shared = boolean_or(json, shared_key, true), scaled = boolean_or(json, scale_key, true);
  if (shared) d.kv_heads = 1;
  if (!scaled) d.score_scale = 1;
  check(!boolean_or(json, "add_cross_attention", false), "{}: add_cross_attention is not supported for gpt_bigcode",
        json.name());
  return make_layer_norm_decoder(d, keys,
                                 {{shared_key, shared}, {"num_key_value_heads", d.kv_heads}, {scale_key, scaled}});
}

}  // namespace vkformer
