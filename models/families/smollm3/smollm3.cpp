#include "models/families/smollm3/smollm3.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// no_rope_layers has a 1 for each layer that turns and a 0 for one that doesn't; without it every
/// no_rope_layer_interval-th doesn't.
void read_positions(const JsonObject& json, Decoder& d) {
  const int64_t interval = integer_or(json, "no_rope_layer_interval", 4, 1, 10000);
  const bool listed = json.has("no_rope_layers");
  const nlohmann::json list = listed ? json.value()["no_rope_layers"] : nlohmann::json();
  check(!listed || (list.is_array() && list.size() >= d.layers.size() &&
                    std::all_of(list.begin(), list.end(), [](const auto& turns) { return turns == 0 || turns == 1; })),
        "{}: no_rope_layers must have a 0 or a 1 for each of the {} layers", json.name(), d.layers.size());
  for (size_t i = 0; i < d.layers.size(); ++i) {
    const bool turns = listed ? list[i] == 1 : static_cast<int64_t>(i + 1) % interval != 0;
    d.layers[i].rotary = turns ? 0 : -1;
  }
}

}  // namespace

Model make_smollm3(const JsonObject& json) {
  constexpr const char* architecture = "SmolLM3ForCausalLM";
  Decoder d{.family = "smollm3",
            .vocabulary = 128256,
            .context = 32768,
            .width = 2048,
            .heads = 16,
            .kv_heads = 4,
            .head_width = 0,
            .tied = true,
            .layers = std::vector<Decoder::Layer>(36)};
  read_decoder(json, d, architecture);
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  d.inner_bias = boolean_or(json, "mlp_bias", false);
  read_positions(json, d);
  const bool windows = boolean_or(json, "use_sliding_window", false);
  set_windows(json, d, windows ? window_of(json, 0) : 0,
              [&](int64_t layer) { return d.layers[static_cast<size_t>(layer)].rotary < 0; });
  read_rotary(json, d, 2e6);

  nlohmann::json written = decoder_keys(d, architecture);
  nlohmann::json turns = nlohmann::json::array();
  for (const Decoder::Layer& layer : d.layers) turns.push_back(layer.rotary < 0 ? 0 : 1);
  const nlohmann::json window = sliding_window(d);
  written.update({{"attention_bias", d.input_bias},
                  {"mlp_bias", d.inner_bias},
                  {"no_rope_layers", turns},
                  {"use_sliding_window", !window.is_null()},
                  {"sliding_window", window},
                  {"layer_types", layer_types(d)}});
  written.update(d.rotaries[0].keys());
  return make_decoder(d, written);
}

}  // namespace vkformer
