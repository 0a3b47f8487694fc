#include "models/families/decoder/mixer_config.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr const char* steps_key = "time_step_limit";

}  // namespace

bool read_mixers(const JsonObject& json, Decoder& d, std::string_view recurrent, Decoder::Mixer mixer,
                 std::initializer_list<std::string_view> attention) {
  constexpr const char* key = "layer_types";
  if (!json.has(key)) return false;
  std::vector<std::string_view> known{recurrent};
  known.insert(known.end(), attention);
  const std::vector<std::string> types = require_layer_names(json, key, known, d.layers.size());
  for (size_t i = 0; i < d.layers.size(); ++i)
    if (types[i] == recurrent) d.layers[i].mixer = mixer;
  return true;
}

nlohmann::json mixer_types(const Decoder& d, std::string_view recurrent, std::string_view attention) {
  nlohmann::json types = nlohmann::json::array();
  for (const Decoder::Layer& layer : d.layers)
    types.push_back(layer.mixer == Decoder::Mixer::attention ? attention : recurrent);
  return types;
}

void check_steps(const JsonObject& json) {
  if (!json.has(steps_key)) return;
  const nlohmann::json& limits = json.value()[steps_key];
  check(limits.is_array() && limits.size() == 2 && limits[0] == 0.0 && !limits[1].is_number(),
        "{}: {} is not supported; steps must be from 0 to infinity", json.name(), steps_key);
}

nlohmann::json step_keys() { return {{steps_key, {0.0, {{"__float__", "Infinity"}}}}}; }

}  // namespace vkformer
