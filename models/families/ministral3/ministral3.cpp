#include "models/families/ministral3/ministral3.h"

#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"

namespace vkformer {

namespace {

/// What holds where a config says nothing of rotary positions.
JsonObject with_usual_angles(const JsonObject& json) {
  if (json.has("rope_parameters") || json.has("rope_scaling") || json.has("rope_theta")) return json;
  nlohmann::json all = json.value();
  all["rope_parameters"] = {{"rope_type", "yarn"},
                            {"rope_theta", 1e6},
                            {"factor", 16},
                            {"original_max_position_embeddings", 16384},
                            {"mscale", 1},
                            {"mscale_all_dim", 1},
                            {RotaryConfig::query_growth_key, 0.1}};
  return JsonObject::make(std::move(all), json.name());
}

}  // namespace

Model make_ministral3(const JsonObject& config) {
  const JsonObject json = with_usual_angles(config);
  constexpr const char* architecture = "Ministral3ForCausalLM";
  Decoder d{.family = "ministral3",
            .vocabulary = 131072,
            .context = 262144,
            .inner = 14336,
            .kv_heads = 8,
            .epsilon = 1e-5,
            .layers = std::vector<Decoder::Layer>(34)};
  read_decoder(json, d, architecture);
  for (Decoder::Layer& layer : d.layers) layer.window = window_of(json, 0);
  read_rotary(json, d, 1e6);
  if (d.rotaries[0].scaling == RotaryConfig::Scaling::yarn)
    d.rotaries[0].query_growth = number_or(RotaryConfig::place(json), RotaryConfig::query_growth_key, 0, 0, 1e3);

  nlohmann::json written = decoder_keys(d, architecture);
  written["sliding_window"] = sliding_window(d);
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
