#include "models/families/qwen3/qwen3.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_qwen3(const JsonObject& json) {
  constexpr const char* architecture = "Qwen3ForCausalLM";
  Decoder d{.family = "qwen3",
            .vocabulary = 151936,
            .context = 32768,
            .inner = 22016,
            .query_norms = Decoder::QueryNorms::head,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  read_upper_windows(json, d);
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written["attention_bias"] = d.input_bias;
  written.update(upper_windows(d));
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
