#include "models/families/granite/granite.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_granite(const JsonObject& json) {
  constexpr const char* architecture = "GraniteForCausalLM";
  Decoder d{.family = "granite", .kv_heads = 0, .head_width = 0, .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  d.inner_bias = boolean_or(json, "mlp_bias", false);
  const auto factor = [&](const char* key) { return number_or(json, key, 1, 1e-6, 1e6); };
  const double divisor = factor("logits_scaling");
  d.embedding_scale = factor("embedding_multiplier");
  d.score_scale = factor("attention_multiplier");
  d.residual_scale = factor("residual_multiplier");
  d.logit_scale = 1 / divisor;
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"attention_bias", d.input_bias},
                  {"mlp_bias", d.inner_bias},
                  {"embedding_multiplier", d.embedding_scale},
                  {"attention_multiplier", d.score_scale},
                  {"residual_multiplier", d.residual_scale},
                  {"logits_scaling", divisor}});
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
