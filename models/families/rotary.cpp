#include "models/families/rotary.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "runtime/check.h"

namespace vkformer {

JsonObject RotaryConfig::place(const JsonObject& json) {
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (json.has(key)) return require_object(json, key);
  return json;
}

RotaryConfig RotaryConfig::from_json(const JsonObject& json, const char* theta_key) {
  RotaryConfig rotary;
  const JsonObject scaling = place(json);
  rotary.theta = number_or(scaling, "rope_theta", number_or(json, theta_key, rotary.theta, 1e-3, 1e12), 1e-3, 1e12);
  const std::string type = string_or(scaling, "rope_type", string_or(scaling, "type", "default"));
  if (type == "default") return rotary;
  rotary.factor = require_number(scaling, "factor", 1e-3, 1e6);
  if (type == "linear") {
    rotary.scaling = RotaryConfig::Scaling::linear;
  } else if (type == "llama3") {
    rotary.scaling = RotaryConfig::Scaling::llama3;
    rotary.low_frequency_factor = require_number(scaling, "low_freq_factor", 1e-3, 1e6);
    rotary.high_frequency_factor = require_number(scaling, "high_freq_factor", 1e-3, 1e6);
    // Older versions of this program wrote 8192.0.
    const double positions = require_number(scaling, "original_max_position_embeddings", 1, 1e9);
    check(positions == std::floor(positions), "{}: \"original_max_position_embeddings\" must be a whole number, not {}",
          scaling.name(), positions);
    rotary.original_context = static_cast<int64_t>(positions);
    check(rotary.high_frequency_factor > rotary.low_frequency_factor,
          "{}: high_freq_factor must be greater than low_freq_factor", scaling.name());
  } else {
    fail("{}: rope_type '{}' is not supported; known are default, linear, llama3", scaling.name(), type);
  }
  return rotary;
}

nlohmann::json RotaryConfig::to_json() const {
  nlohmann::json json = {{"rope_type", "default"}, {"rope_theta", theta}};
  if (scaling != RotaryConfig::Scaling::none) json["factor"] = factor;
  if (scaling == RotaryConfig::Scaling::linear) json["rope_type"] = "linear";
  if (scaling == RotaryConfig::Scaling::llama3)
    json.update({{"rope_type", "llama3"},
                 {"low_freq_factor", low_frequency_factor},
                 {"high_freq_factor", high_frequency_factor},
                 {"original_max_position_embeddings", original_context}});
  return json;
}

void RotaryConfig::add_scaling(nlohmann::json& config) const {
  if (scaling == Scaling::none) return;
  config["rope_scaling"] = to_json();
  config["rope_scaling"].erase("rope_theta");
}

nlohmann::json RotaryConfig::keys() const {
  nlohmann::json config = {{"rope_theta", theta}, {"rope_parameters", to_json()}};
  add_scaling(config);
  return config;
}

double RotaryConfig::frequency(int64_t i, int64_t width) const {
  const double plain = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width));
  if (scaling == Scaling::linear) return plain / factor;
  if (scaling == Scaling::none) return plain;
  // Llama 3.1: long wavelengths are stretched, short ones kept, those between interpolated.
  const double turns = static_cast<double>(original_context) * plain / (2 * std::numbers::pi);
  if (turns < low_frequency_factor) return plain / factor;
  if (turns > high_frequency_factor) return plain;
  const double smooth = (turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor);
  return (1 - smooth) * plain / factor + smooth * plain;
}

std::vector<float> RotaryConfig::table(int64_t positions, int64_t width) const {
  std::vector<float> values(static_cast<size_t>(positions * width));
  for (int64_t i = 0; i < width / 2; ++i) {
    const double step = frequency(i, width);
    for (int64_t p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p) * step;
      values[static_cast<size_t>(p * width + i)] = static_cast<float>(std::cos(angle));
      values[static_cast<size_t>(p * width + width / 2 + i)] = static_cast<float>(std::sin(angle));
    }
  }
  return values;
}

}  // namespace vkformer
