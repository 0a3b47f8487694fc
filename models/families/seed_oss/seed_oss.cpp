#include "models/families/seed_oss/seed_oss.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_seed_oss(const JsonObject& json) {
  constexpr const char* architecture = "SeedOssForCausalLM";
  Decoder d{.family = "seed_oss",
            .vocabulary = 155136,
            .context = 524288,
            .inner = 27648,
            .heads = 80,
            .kv_heads = 8,
            .attention_dropout = 0.1,
            .layers = std::vector<Decoder::Layer>(64)};
  read_decoder(json, d, architecture);
  d.input_bias = boolean_or(json, "attention_bias", true);
  d.output_bias = boolean_or(json, "attention_out_bias", false);
  d.inner_bias = boolean_or(json, "mlp_bias", false);
  d.output_dropout = number_or(json, "residual_dropout", 0.1, 0, 0.99);
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"attention_bias", d.input_bias},
                  {"attention_out_bias", d.output_bias},
                  {"mlp_bias", d.inner_bias},
                  {"residual_dropout", d.output_dropout}});
  written.update(d.rotaries[0].keys());
  Model model = make_decoder(d, written);
  model.dropout_keys.emplace_back("residual_dropout");
  return model;
}

}  // namespace vkformer
