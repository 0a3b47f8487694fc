#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/llama/llama.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr int64_t most_width = 1 << 20;

/// Mistral: sliding_window, null for none. Qwen2: only with use_sliding_window, from layer max_window_layers on.
void read_window(const JsonObject& json, LlamaConfig& c) {
  if (c.family == "llama") return;
  const bool given = json.has("sliding_window");
  if (c.family == "qwen2" && !boolean_or(json, "use_sliding_window", false)) return;
  // Absent is 4096, in both families; null is none.
  if (given || !json.value().contains("sliding_window"))
    c.window = integer_or(json, "sliding_window", 4096, 1, int64_t{1} << 40);
  if (c.family == "qwen2") c.first_window_layer = integer_or(json, "max_window_layers", 28, 0, 10000);
}

std::string architecture_name(const std::string& family) {
  return family == "mistral" ? "MistralForCausalLM" : family == "qwen2" ? "Qwen2ForCausalLM" : "LlamaForCausalLM";
}

}  // namespace

LlamaConfig LlamaConfig::from_json(const JsonObject& json) {
  LlamaConfig c;
  c.family = require_string(json, "model_type");
  architecture_of(json, {architecture_name(c.family)});
  c.vocabulary = integer_or(json, "vocab_size", c.vocabulary, 1, int64_t{1} << 24);
  c.context = integer_or(json, "max_position_embeddings", c.context, 1, int64_t{1} << 24);
  c.width = integer_or(json, "hidden_size", c.width, 1, most_width);
  c.inner = integer_or(json, "intermediate_size", c.inner, 1, 4 * most_width);
  c.layers = integer_or(json, "num_hidden_layers", c.layers, 1, 10000);
  c.heads = integer_or(json, "num_attention_heads", c.heads, 1, most_width);
  c.kv_heads = integer_or(json, "num_key_value_heads", c.family == "mistral" ? 8 : c.heads, 1, most_width);
  check(json.has("head_dim") || c.width % c.heads == 0,
        "{}: hidden_size {} is not a multiple of num_attention_heads {}", json.name(), c.width, c.heads);
  c.head_width = integer_or(json, "head_dim", c.width / c.heads, 1, 256);
  check(c.head_width % 2 == 0, "{}: head_dim {} is odd; rotary positions turn pairs", json.name(), c.head_width);
  check(c.heads % c.kv_heads == 0, "{}: num_attention_heads {} is not a multiple of num_key_value_heads {}",
        json.name(), c.heads, c.kv_heads);
  const std::string activation = string_or(json, "hidden_act", "silu");
  check(activation == "silu" || activation == "swish", "{}: hidden_act '{}' is not supported; {} knows silu",
        json.name(), activation, c.family);
  c.epsilon = number_or(json, "rms_norm_eps", c.epsilon, 0, 1);
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  c.attention_dropout = number_or(json, "attention_dropout", c.attention_dropout, 0, 0.99);
  if (c.family == "llama") {
    c.input_bias = c.output_bias = boolean_or(json, "attention_bias", false);
    c.inner_bias = boolean_or(json, "mlp_bias", false);
  }
  if (c.family == "qwen2") c.input_bias = true;
  read_window(json, c);
  c.tied = boolean_or(json, "tie_word_embeddings", false);
  c.rotary = RotaryConfig::from_json(json);
  return c;
}

nlohmann::json LlamaConfig::to_json() const {
  nlohmann::json json = {{"model_type", family},
                         {"architectures", {architecture_name(family)}},
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
                         {"tie_word_embeddings", tied},
                         {"rope_theta", rotary.theta},
                         {"rope_parameters", rotary.to_json()},
                         {"torch_dtype", "float32"}};
  if (family == "llama") {
    json["attention_bias"] = input_bias;
    json["mlp_bias"] = inner_bias;
  }
  if (family == "mistral") json["sliding_window"] = window ? nlohmann::json(window) : nlohmann::json();
  if (family == "qwen2") json["use_sliding_window"] = window > 0;
  if (family == "qwen2" && window > 0) {
    json["sliding_window"] = window;
    json["max_window_layers"] = first_window_layer;
  }
  rotary.add_scaling(json);
  return json;
}

}  // namespace vkformer
