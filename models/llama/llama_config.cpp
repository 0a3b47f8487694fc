#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "models/llama/llama.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr int64_t most_width = 1 << 20;

RotaryConfig rotary_of(const JsonObject& json) {
  RotaryConfig rotary;
  // transformers 5 keeps all of it in rope_parameters; older files have rope_theta, and rope_scaling or null.
  const bool current = json.has("rope_parameters");
  const bool scaled = current || json.has("rope_scaling");
  const JsonObject scaling = scaled ? require_object(json, current ? "rope_parameters" : "rope_scaling") : json;
  rotary.theta = number_or(current ? scaling : json, "rope_theta", rotary.theta, 1e-3, 1e12);
  if (!scaled) return rotary;
  const std::string type = string_or(scaling, "rope_type", string_or(scaling, "type", "default"));
  if (type == "default") return rotary;
  rotary.factor = require_number(scaling, "factor", 1e-3, 1e6);
  if (type == "linear") {
    rotary.scaling = RotaryConfig::Scaling::linear;
  } else if (type == "llama3") {
    rotary.scaling = RotaryConfig::Scaling::llama3;
    rotary.low_frequency_factor = require_number(scaling, "low_freq_factor", 1e-3, 1e6);
    rotary.high_frequency_factor = require_number(scaling, "high_freq_factor", 1e-3, 1e6);
    rotary.original_context = require_number(scaling, "original_max_position_embeddings", 1, 1e9);
    check(rotary.high_frequency_factor > rotary.low_frequency_factor,
          "{}: high_freq_factor must be greater than low_freq_factor", scaling.name());
  } else {
    fail("{}: rope_type '{}' is not supported; llama knows default, linear, llama3", scaling.name(), type);
  }
  return rotary;
}

}  // namespace

double RotaryConfig::frequency(int64_t i, int64_t width) const {
  const double plain = std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width));
  if (scaling == Scaling::linear) return plain / factor;
  if (scaling == Scaling::none) return plain;
  // Llama 3.1: long wavelengths are stretched, short ones kept, those between interpolated.
  const double turns = original_context * plain / (2 * std::numbers::pi);
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

LlamaConfig LlamaConfig::from_json(const JsonObject& json) {
  LlamaConfig c;
  c.vocabulary = integer_or(json, "vocab_size", c.vocabulary, 1, int64_t{1} << 24);
  c.context = integer_or(json, "max_position_embeddings", c.context, 1, int64_t{1} << 24);
  c.width = integer_or(json, "hidden_size", c.width, 1, most_width);
  c.inner = integer_or(json, "intermediate_size", c.inner, 1, 4 * most_width);
  c.layers = integer_or(json, "num_hidden_layers", c.layers, 1, 10000);
  c.heads = integer_or(json, "num_attention_heads", c.heads, 1, most_width);
  c.kv_heads = integer_or(json, "num_key_value_heads", c.heads, 1, most_width);
  check(json.has("head_dim") || c.width % c.heads == 0,
        "{}: hidden_size {} is not a multiple of num_attention_heads {}", json.name(), c.width, c.heads);
  c.head_width = integer_or(json, "head_dim", c.width / c.heads, 1, 256);
  check(c.head_width % 2 == 0, "{}: head_dim {} is odd; rotary positions turn pairs", json.name(), c.head_width);
  check(c.heads % c.kv_heads == 0, "{}: num_attention_heads {} is not a multiple of num_key_value_heads {}",
        json.name(), c.heads, c.kv_heads);
  const std::string activation = string_or(json, "hidden_act", "silu");
  check(activation == "silu" || activation == "swish", "{}: hidden_act '{}' is not supported; llama knows silu",
        json.name(), activation);
  c.epsilon = number_or(json, "rms_norm_eps", c.epsilon, 0, 1);
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  c.attention_dropout = number_or(json, "attention_dropout", c.attention_dropout, 0, 0.99);
  c.attention_bias = boolean_or(json, "attention_bias", false);
  c.inner_bias = boolean_or(json, "mlp_bias", false);
  c.tied = boolean_or(json, "tie_word_embeddings", false);
  c.rotary = rotary_of(json);
  return c;
}

nlohmann::json LlamaConfig::to_json() const {
  nlohmann::json scaling = {{"rope_type", "default"}, {"rope_theta", rotary.theta}};
  if (rotary.scaling != RotaryConfig::Scaling::none) scaling["factor"] = rotary.factor;
  if (rotary.scaling == RotaryConfig::Scaling::linear) scaling["rope_type"] = "linear";
  if (rotary.scaling == RotaryConfig::Scaling::llama3)
    scaling.update({{"rope_type", "llama3"},
                    {"low_freq_factor", rotary.low_frequency_factor},
                    {"high_freq_factor", rotary.high_frequency_factor},
                    {"original_max_position_embeddings", rotary.original_context}});
  nlohmann::json json = {{"model_type", "llama"},
                         {"architectures", {"LlamaForCausalLM"}},
                         {"vocab_size", vocabulary},
                         {"max_position_embeddings", context},
                         {"hidden_size", width},
                         {"intermediate_size", inner},
                         {"num_hidden_layers", layers},
                         {"num_attention_heads", heads},
                         {"num_key_value_heads", kv_heads},
                         {"head_dim", head_width},
                         {"hidden_act", "silu"},
                         {"rms_norm_eps", epsilon},
                         {"initializer_range", deviation},
                         {"attention_dropout", attention_dropout},
                         {"attention_bias", attention_bias},
                         {"mlp_bias", inner_bias},
                         {"tie_word_embeddings", tied},
                         {"rope_theta", rotary.theta},
                         {"rope_parameters", scaling},
                         {"torch_dtype", "float32"}};
  // Older versions of transformers read rope_theta and rope_scaling.
  if (rotary.scaling != RotaryConfig::Scaling::none) {
    json["rope_scaling"] = scaling;
    json["rope_scaling"].erase("rope_theta");
  }
  return json;
}

}  // namespace vkformer
