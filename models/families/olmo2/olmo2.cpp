#include "models/families/olmo2/olmo2.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_olmo2(const JsonObject& json) {
  constexpr const char* architecture = "Olmo2ForCausalLM";
  Decoder d{.family = "olmo2",
            .vocabulary = 50304,
            .kv_heads = 0,
            .head_width = 0,
            .epsilon = 1e-5,
            .norms = Decoder::Norms::after,
            .query_norms = Decoder::QueryNorms::whole,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written["attention_bias"] = d.input_bias;
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
