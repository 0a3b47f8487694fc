#include "models/families/gptj/gptj.h"

#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

Model make_gptj(const JsonObject& json) {
  constexpr const char* turned_key = "rotary_dim";
  const bool pieces = string_or(json, "model_type", "") == "codegen";
  const LayerNormDecoderKeys keys{.architecture = pieces ? "CodeGenForCausalLM" : "GPTJForCausalLM",
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
  LayerNormDecoder d{.family = pieces ? "codegen" : "gptj",
                     .names = {.tokens = "transformer.wte",
                               .layer = "transformer.h",
                               .first_norm = "ln_1",
                               .attention = "attn",
                               .fused = pieces ? "qkv_proj" : nullptr,
                               .attention_output = "attn.out_proj",
                               .inner = "mlp.fc_in",
                               .outer = "mlp.fc_out",
                               .last_norm = "transformer.ln_f"},
                     .vocabulary = 50400,
                     .width = 4096,
                     .inner = 0,
                     .block = LayerNormDecoder::Block::one_norm,
                     .fused = pieces ? LayerNormDecoder::Fused::pieces : LayerNormDecoder::Fused::groups,
                     .windows = std::vector<int64_t>(28),
                     .input_bias = false,
                     .output_bias = false,
                     .head_bias = true,
                     .interleaved = true};
  read_layer_norm_decoder(json, d, keys);
  check(!pieces || d.heads % LayerNormDecoder::pieces == 0, "{}: n_head {} is not a multiple of {}", json.name(),
        d.heads, LayerNormDecoder::pieces);
  check(json.has(turned_key) || !json.value().contains(turned_key),
        "{}: {} null is not supported; give the columns of each head that turn, at most {}", json.name(), turned_key,
        d.head_width);
  d.turned = integer_or(json, turned_key, 64, 0, d.head_width);
  check(d.turned % 2 == 0, "{}: {} {} is odd; rotary positions turn pairs", json.name(), turned_key, d.turned);
  return make_layer_norm_decoder(d, keys, {{turned_key, d.turned}});
}

}  // namespace vkformer
