#include "models/families/exaone4/exaone4.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

Model make_exaone4(const JsonObject& json) {
  constexpr const char* architecture = "Exaone4ForCausalLM";
  Decoder d{.family = "exaone4",
            .vocabulary = 102400,
            .inner = 16384,
            .head_width = 0,
            .epsilon = 1e-5,
            .norms = Decoder::Norms::after,
            .query_norms = Decoder::QueryNorms::head,
            .layers = std::vector<Decoder::Layer>(32)};
  read_decoder(json, d, architecture);
  const int64_t window = window_of(json, 4096);
  const int64_t pattern =  // "LLLG" beside a list
      json.has("layer_types") ? 4 : integer_or(json, "sliding_window_pattern", 4, 1, 10000);
  set_windows(json, d, window, [&](int64_t layer) { return (layer + 1) % pattern != 0; });
  if (window > 0)
    for (Decoder::Layer& layer : d.layers) layer.rotary = layer.window > 0 ? 0 : -1;
  read_rotary(json, d);

  nlohmann::json written = decoder_keys(d, architecture);
  written.update({{"sliding_window", window > 0 ? nlohmann::json(window) : nullptr}, {"layer_types", layer_types(d)}});
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
