#include "models/families/olmo3/olmo3.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_olmo3(const JsonObject& json) {
  constexpr const char* architecture = "Olmo3ForCausalLM";
  Decoder d{.family = "olmo3",
            .vocabulary = 50304,
            .kv_heads = 0,
            .head_width = 0,
            .epsilon = 1e-5,
            .norms = Decoder::Norms::after,
            .query_norms = Decoder::QueryNorms::whole,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  set_windows(json, d, window_of(json, 4096), [](int64_t layer) { return (layer + 1) % 4 != 0; });
  constexpr double theta = 5e5;
  read_rotaries(json, d, theta, theta, [](const RotaryConfig& full) { return RotaryConfig{.theta = full.theta}; });

  nlohmann::json written = decoder_keys(d, architecture);
  written.update(
      {{"attention_bias", d.input_bias}, {"sliding_window", sliding_window(d)}, {"layer_types", layer_types(d)}});
  written.update(rotary_keys(d));
  return make_decoder(d, written);
}

}  // namespace vkformer
