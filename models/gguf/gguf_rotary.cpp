#include "models/gguf/gguf_rotary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/families/rotary.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/utf8.h"
#include "runtime/text_number.h"

namespace vkformer {
namespace {

using nlohmann::json;

/// To six digits: what was computed from floats has no more.
double six_digits(double value) { return number_in<double>(fmt::format("{:.6g}", value)).value_or(0); }

/// What turns the divisors of a file into "llama3" scaling. How many turns a frequency makes in the original context
/// decides; only the ratios of that context and of the two limits count, so that it is free to be 8192
/// where the file does not say it.
json llama3_scaling(const GgufSettings& settings, double theta, int64_t width) {
  const auto name = [&] { return fmt::format("{}: tensor rope_freqs.weight", settings.shards().name()); };
  const std::vector<float> divisors = gguf_floats(settings, "rope_freqs.weight", width / 2);
  const size_t pairs = divisors.size();
  for (const float divisor : divisors) check(divisor >= 1e-3f && divisor <= 1e6f, "{} has {}", name(), divisor);
  RotaryConfig rotary{.theta = theta, .scaling = RotaryConfig::Scaling::llama3};
  rotary.factor = *std::ranges::max_element(divisors);
  if (settings.has("rope.scaling.original_context_length"))
    rotary.original_context = settings.integer("rope.scaling.original_context_length");
  const RotaryConfig plain{.theta = theta};
  const auto fits = [&] {
    for (size_t i = 0; i < pairs; ++i) {
      const auto pair = static_cast<int64_t>(i);
      const double ours = plain.frequency(pair, width) / rotary.frequency(pair, width);
      if (std::abs(ours / static_cast<double>(divisors[i]) - 1) > 1e-4) return false;
    }
    return true;
  };
  rotary.low_frequency_factor = 1;
  rotary.high_frequency_factor = 4;
  if (rotary.factor > 1 && !fits()) {
    // Between the limits the inverse of the divisor grows with the frequency in a straight line.
    std::vector<std::pair<double, double>> between;  // turns, share of the plain frequency
    for (size_t i = 0; i < pairs; ++i) {
      const double divisor = divisors[i], turns = static_cast<double>(rotary.original_context) *
                                                  plain.frequency(static_cast<int64_t>(i), width) /
                                                  (2 * std::numbers::pi);
      if (divisor > 1 + 1e-6 && divisor < rotary.factor * (1 - 1e-6))
        between.emplace_back(turns, (1 / divisor - 1 / rotary.factor) / (1 - 1 / rotary.factor));
    }
    if (between.size() >= 2) {
      const auto [first, first_share] = between.front();
      const auto [last, last_share] = between.back();
      const double range = (first - last) / (first_share - last_share);
      rotary.low_frequency_factor = six_digits(first - first_share * range);
      rotary.high_frequency_factor = six_digits(first - first_share * range + range);
    } else if (between.size() == 1) {
      rotary.low_frequency_factor = between[0].first / (1 + 3 * between[0].second);
      rotary.high_frequency_factor = 4 * rotary.low_frequency_factor;
    }
    check(rotary.low_frequency_factor > 0 && rotary.high_frequency_factor > rotary.low_frequency_factor && fits(),
          "{} has divisors of frequencies that are not those of llama3's scaling; others are not supported", name());
  }
  check(rotary.factor >= 1, "{} has only divisors below 1", name());
  json scaling = rotary.to_json();
  scaling.erase("rope_theta");
  return scaling;
}

json longrope_scaling(const GgufSettings& settings, int64_t width) {
  json scaling = {{"rope_type", "longrope"}};
  for (const auto& [tensor, key] :
       {std::pair{"rope_factors_short.weight", "short_factor"}, {"rope_factors_long.weight", "long_factor"}}) {
    scaling[key] = json::array();
    for (const float factor : gguf_floats(settings, tensor, width / 2)) scaling[key].push_back(shortest_number(factor));
  }
  if (settings.has("rope.scaling.attn_factor"))
    scaling["attention_factor"] = settings.number("rope.scaling.attn_factor");
  return scaling;
}

constexpr std::pair<const char*, const char*> yarn_keys[] = {{"rope.scaling.yarn_beta_fast", "beta_fast"},
                                                             {"rope.scaling.yarn_beta_slow", "beta_slow"}};

}  // namespace

std::vector<float> gguf_floats(const GgufSettings& settings, std::string_view tensor, int64_t count) {
  const GgufShards::Tensor* stored = settings.shards().find(tensor);
  check(stored && stored->entry->type->name == "F32" && stored->entry->shape == std::vector<int64_t>{count},
        "{}: tensor {} must be {} values of F32", settings.shards().name(), tensor, count);
  std::vector<float> values(static_cast<size_t>(count));
  decode(DType::f32, stored->entry->bytes, values);
  return values;
}

void read_gguf_rotary(const GgufSettings& settings, json& config, int64_t width) {
  if (!config.contains("rope_theta")) config["rope_theta"] = 10000.0;
  const double theta = config["rope_theta"];
  if (settings.has_tensor("rope_freqs.weight")) {
    config["rope_scaling"] = llama3_scaling(settings, theta, width);
    return;
  }
  if (settings.has_tensor("rope_factors_long.weight")) {
    config["rope_scaling"] = longrope_scaling(settings, width);
    config["original_max_position_embeddings"] = settings.integer("rope.scaling.original_context_length");
    return;
  }
  const std::string type =
      settings.has("rope.scaling.type") ? std::string(settings.all().text(settings.name("rope.scaling.type"))) : "none";
  if (type == "none") return;
  check(type == "linear" || type == "yarn", "{}: key {} is {}; linear and yarn are supported", settings.shards().name(),
        settings.name("rope.scaling.type"), in_quotes(type));
  json& scaling = config["rope_scaling"] = {{"rope_type", type}, {"factor", settings.number("rope.scaling.factor")}};
  if (type == "linear") return;
  scaling["original_max_position_embeddings"] = settings.integer("rope.scaling.original_context_length");
  for (const auto& [key, theirs] : yarn_keys)
    if (settings.has(key)) scaling[theirs] = settings.number(key);
  check(!settings.has("rope.scaling.yarn_attn_factor") && !settings.has("rope.scaling.yarn_ext_factor"),
        "{}: keys {} and yarn_ext_factor are not supported", settings.shards().name(),
        settings.name("rope.scaling.yarn_attn_factor"));
}

}  // namespace vkformer
