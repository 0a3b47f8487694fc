#include "models/families/decoder/mixer_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"

namespace vkformer {

bool read_mixers(const JsonObject& json, Decoder& d, std::string_view recurrent, Decoder::Mixer mixer,
                 std::initializer_list<std::string_view> attention) {
  constexpr const char* key = "layer_types";
  if (!json.has(key)) return false;
  const nlohmann::json& types = json.value()[key];
  const auto is_known = [&](const nlohmann::json& type) {
    return type == recurrent || std::ranges::any_of(attention, [&](std::string_view name) { return type == name; });
  };
  check(types.is_array() && types.size() == d.layers.size() && std::ranges::all_of(types, is_known),
        "{}: {} must name \"{}\" or \"{}\" for each of the {} layers", json.name(), key, recurrent, *attention.begin(),
        d.layers.size());
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

}  // namespace vkformer
