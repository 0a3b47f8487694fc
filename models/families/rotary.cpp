#include "models/families/rotary.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Scaling = RotaryConfig::Scaling;

constexpr std::pair<std::string_view, Scaling> scalings[] = {
    {"default", Scaling::none}, {"linear", Scaling::linear},     {"llama3", Scaling::llama3},
    {"yarn", Scaling::yarn},    {"longrope", Scaling::longrope}, {"proportional", Scaling::proportional}};
constexpr const char *share_key = "partial_rotary_factor", *score_growth_key = "mscale_all_dim";
constexpr const char *sections_key = "mrope_section", *mixed_key = "mrope_interleaved";

/// Phi-3's first files called longrope "su", others "yarn".
Scaling scaling_of(const JsonObject& parameters) {
  check(parameters.has("rope_type") || parameters.has("type") || !parameters.has("factor"),
        "{}: there is a \"factor\" and no \"rope_type\" that tells what it is of", parameters.name());
  const std::string type = string_or(parameters, "rope_type", string_or(parameters, "type", "default"));
  if (type == "mrope") return Scaling::none;    // in older files, of their sections
  if (type == "dynamic") return Scaling::none;  // of texts within the context, and others are not run
  if (type == "su" || (type == "yarn" && parameters.has("short_factor"))) return Scaling::longrope;
  std::string known;
  for (const auto& [name, scaling] : scalings) {
    if (name == type) return scaling;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  fail("{}: rope_type '{}' is not supported; known are {}", parameters.name(), printable(type, 60), known);
}

std::string_view name_of(Scaling scaling) {
  return std::ranges::find(scalings, scaling, &std::pair<std::string_view, Scaling>::second)->first;
}

/// Phi-3 keeps it beside the other parameters, which transformers gives priority.
int64_t original_context_of(const JsonObject& parameters, const JsonObject& config, Scaling scaling, int64_t context) {
  constexpr const char* key = "original_max_position_embeddings";
  const bool outside = config.has(key), inside = parameters.has(key);
  if (!outside && !inside && scaling != Scaling::llama3) return context;
  const JsonObject& place = outside ? config : parameters;
  // Older versions of this program wrote 8192.0.
  const double positions = require_number(place, key, 1, 1e9);
  check(positions == std::floor(positions), "{}: \"{}\" must be a whole number, not {}", place.name(), key, positions);
  return static_cast<int64_t>(positions);
}

std::vector<double> factors_of(const JsonObject& parameters, const char* key) {
  const auto found = parameters.value().find(key);
  std::vector<double> factors;
  if (found != parameters.value().end() && found->is_array())
    for (const nlohmann::json& value : *found) {
      factors.push_back(value.is_number() ? value.get<double>() : 0);
      if (factors.back() < 1e-3 || factors.back() > 1e6) factors.clear();
      if (factors.empty()) break;
    }
  check(!factors.empty(), "{}: \"{}\" must be an array of numbers from 0.001 to 1000000", parameters.name(), key);
  return factors;
}

/// Of YaRN's attention: grows with the logarithm of the context's.
double yarn_scale(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

void read_yarn(const JsonObject& parameters, RotaryConfig& rotary) {
  rotary.beta_fast = number_or(parameters, "beta_fast", 32, 1e-3, 1e6);
  rotary.beta_slow = number_or(parameters, "beta_slow", 1, 1e-3, 1e6);
  rotary.truncate = boolean_or(parameters, "truncate", true);
  const double mscale = number_or(parameters, "mscale", 0, 0, 1e3);
  const double mscale_all = rotary.score_growth = number_or(parameters, score_growth_key, 0, 0, 1e3);
  const double usual = mscale != 0 && mscale_all != 0
                           ? yarn_scale(rotary.factor, mscale) / yarn_scale(rotary.factor, mscale_all)
                           : yarn_scale(rotary.factor, 1);
  rotary.attention_factor = number_or(parameters, "attention_factor", usual, 1e-3, 1e3);
}

void read_longrope(const JsonObject& parameters, RotaryConfig& rotary) {
  rotary.short_factors = factors_of(parameters, "short_factor");
  rotary.long_factors = factors_of(parameters, "long_factor");
  const auto original = static_cast<double>(std::max<int64_t>(rotary.original_context, 2));
  const double usual = rotary.factor <= 1 ? 1 : std::sqrt(1 + std::log(rotary.factor) / std::log(original));
  rotary.attention_factor = number_or(parameters, "attention_factor", usual, 1e-3, 1e3);
}

void read_sections(const JsonObject& parameters, RotaryConfig& rotary) {
  const auto found = parameters.value().find(sections_key);
  if (found == parameters.value().end() || found->is_null()) return;
  const auto fits = [](const nlohmann::json& count) {
    return count.is_number_integer() && count.get<int64_t>() >= 0 && count.get<int64_t>() <= 4096;
  };
  check(found->is_array() && found->size() == 3 && std::ranges::all_of(*found, fits),
        "{}: \"{}\" must be three numbers of pairs", parameters.name(), sections_key);
  rotary.sections = found->get<std::vector<int64_t>>();
  rotary.mixed_sections = boolean_or(parameters, mixed_key, false);
}

}  // namespace

JsonObject RotaryConfig::place(const JsonObject& json) {
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (json.has(key)) return require_object(json, key);
  return json;
}

RotaryConfig RotaryConfig::from_json(const JsonObject& config, const Usual& usual) {
  return from_json(place(config), config, usual);
}

RotaryConfig RotaryConfig::from_json(const JsonObject& parameters, const JsonObject& config, const Usual& usual) {
  RotaryConfig rotary;
  rotary.theta =
      number_or(parameters, "rope_theta", number_or(config, usual.theta_key, usual.theta, 1e-3, 1e12), 1e-3, 1e12);
  rotary.scaling = scaling_of(parameters);
  read_sections(parameters, rotary);
  if (rotary.scaling == Scaling::none) return rotary;
  if (rotary.scaling == Scaling::proportional) {
    check(usual.proportional, "{}: rope_type 'proportional' is not supported for this family", parameters.name());
    rotary.factor = number_or(parameters, "factor", 1, 1e-3, 1e6);
    rotary.share = number_or(parameters, share_key, 1, 0, 1);
    return rotary;
  }
  if (rotary.scaling != Scaling::linear)
    rotary.original_context = original_context_of(parameters, config, rotary.scaling, usual.context);
  const bool by_context = rotary.scaling == Scaling::yarn || rotary.scaling == Scaling::longrope;
  if (by_context && !parameters.has("factor"))
    rotary.factor = static_cast<double>(usual.context) / static_cast<double>(rotary.original_context);
  else
    rotary.factor = require_number(parameters, "factor", 1e-3, 1e6);
  if (rotary.scaling == Scaling::yarn) read_yarn(parameters, rotary);
  if (rotary.scaling == Scaling::longrope) read_longrope(parameters, rotary);
  if (rotary.scaling == Scaling::llama3) {
    rotary.low_frequency_factor = require_number(parameters, "low_freq_factor", 1e-3, 1e6);
    rotary.high_frequency_factor = require_number(parameters, "high_freq_factor", 1e-3, 1e6);
    check(rotary.high_frequency_factor > rotary.low_frequency_factor,
          "{}: high_freq_factor must be greater than low_freq_factor", parameters.name());
  }
  return rotary;
}

void RotaryConfig::check_width(const JsonObject& config, int64_t width) const {
  check(sections.empty() || std::reduce(sections.begin(), sections.end()) == width / 2,
        "{}: {} has {} pairs of columns in all; {} of each head turn", config.name(), sections_key,
        std::reduce(sections.begin(), sections.end()), width / 2);
  if (scaling != Scaling::longrope) return;
  for (const auto& [key, factors] : {std::pair{"short_factor", &short_factors}, {"long_factor", &long_factors}})
    check(static_cast<int64_t>(factors->size()) == width / 2, "{}: {} has {} numbers; {} pairs of each head turn",
          config.name(), key, factors->size(), width / 2);
}

nlohmann::json RotaryConfig::to_json() const {
  nlohmann::json json = {{"rope_type", name_of(scaling)}, {"rope_theta", theta}};
  if (!sections.empty()) json[sections_key] = sections;
  if (mixed_sections) json[mixed_key] = true;
  if (scaling == Scaling::none) return json;
  json["factor"] = factor;
  if (scaling == Scaling::proportional) json[share_key] = share;
  if (scaling != Scaling::linear && scaling != Scaling::proportional)
    json["original_max_position_embeddings"] = original_context;
  if (scaling == Scaling::llama3)
    json.update({{"low_freq_factor", low_frequency_factor}, {"high_freq_factor", high_frequency_factor}});
  if (scaling == Scaling::yarn)
    json.update({{"beta_fast", beta_fast}, {"beta_slow", beta_slow}, {"truncate", truncate}});
  if (score_growth > 0) {
    json[score_growth_key] = score_growth;
    // For readers that don't know attention_factor.
    if (attention_factor == 1) json["mscale"] = score_growth;
  }
  if (query_growth > 0) json[query_growth_key] = query_growth;
  if (scaling == Scaling::longrope) json.update({{"short_factor", short_factors}, {"long_factor", long_factors}});
  if (scaling == Scaling::yarn || scaling == Scaling::longrope) json["attention_factor"] = attention_factor;
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

double RotaryConfig::score_factor() const {
  const double factor_of_each = score_growth > 0 ? yarn_scale(factor, score_growth) : 1;
  return factor_of_each * factor_of_each;
}

double RotaryConfig::frequency(int64_t i, int64_t width, bool stretched) const {
  const double columns = static_cast<double>(width);
  const double plain = std::pow(theta, -2.0 * static_cast<double>(i) / columns);
  const auto original = static_cast<double>(original_context);
  switch (scaling) {
    case Scaling::none: return plain;
    case Scaling::linear: return plain / factor;
    case Scaling::llama3: {
      // Llama 3.1: long wavelengths are stretched, short ones kept, those between interpolated.
      const double turns = original * plain / (2 * std::numbers::pi);
      const double smooth =
          std::clamp((turns - low_frequency_factor) / (high_frequency_factor - low_frequency_factor), 0.0, 1.0);
      return (1 - smooth) * plain / factor + smooth * plain;
    }
    case Scaling::yarn: {
      // The same, by columns: from the one that turns beta_fast times to the one that turns beta_slow times.
      const auto column_of = [&](double turns) {
        return columns * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
      };
      double low = column_of(beta_fast), high = column_of(beta_slow);
      if (truncate) {
        low = std::floor(low);
        high = std::ceil(high);
      }
      low = std::max(low, 0.0);
      high = std::min(high, columns - 1);
      if (low == high) high += 0.001;
      const double stretch = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      return stretch * plain / factor + (1 - stretch) * plain;
    }
    case Scaling::proportional: return i < static_cast<int64_t>(share * columns / 2) ? plain / factor : 0;
    case Scaling::longrope: return plain / (stretched ? long_factors : short_factors)[static_cast<size_t>(i)];
  }
  return plain;
}

std::vector<float> RotaryConfig::table(int64_t positions, int64_t width, bool stretched) const {
  std::vector<float> values(static_cast<size_t>(positions * width));
  for (int64_t i = 0; i < width / 2; ++i) {
    const double step = (backwards ? -1 : 1) * frequency(i, width, stretched);
    for (int64_t p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p) * step;
      values[static_cast<size_t>(p * width + i)] = static_cast<float>(attention_factor * std::cos(angle));
      values[static_cast<size_t>(p * width + width / 2 + i)] = static_cast<float>(attention_factor * std::sin(angle));
    }
  }
  return values;
}

size_t RotaryConfig::axis_of(int64_t i) const {
  if (sections.empty()) return 0;
  if (!mixed_sections) return i < sections[0] ? 0 : i < sections[0] + sections[1] ? 1 : 2;
  const auto turn = static_cast<size_t>(i % 3);
  return i < 3 * sections[turn] ? turn : 0;
}

std::vector<float> RotaryConfig::row(const Place& place, int64_t width) const {
  std::vector<float> values(static_cast<size_t>(width));
  for (int64_t i = 0; i < width / 2; ++i) {
    const double angle = static_cast<double>(place[axis_of(i)]) * frequency(i, width);
    values[static_cast<size_t>(i)] = static_cast<float>(attention_factor * std::cos(angle));
    values[static_cast<size_t>(width / 2 + i)] = static_cast<float>(attention_factor * std::sin(angle));
  }
  return values;
}

std::vector<float> RotaryConfig::query_table(int64_t positions, int64_t width) const {
  std::vector<float> values = table(positions, width);
  for (int64_t p = original_context; p < positions; ++p) {
    const auto spans = static_cast<double>(p / original_context);
    const auto factor = static_cast<float>(1 + query_growth * std::log(1 + spans));
    for (float& value : std::span(values).subspan(static_cast<size_t>(p * width), static_cast<size_t>(width)))
      value *= factor;
  }
  return values;
}

}  // namespace vkformer
