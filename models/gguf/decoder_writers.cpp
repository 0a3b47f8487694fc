#include <algorithm>
#include <cmath>

#include "models/gguf/config_writers.h"
#include "runtime/check.h"

namespace vkformer {

using nlohmann::json;

namespace {

/// Which layers have a window.
void add_window_pattern(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const auto types = config.at("layer_types").get<std::vector<std::string>>();
  const auto full = std::ranges::find(types, "full_attention");
  const auto period = static_cast<size_t>(full - types.begin()) + 1;
  for (size_t layer = 0; layer < types.size(); ++layer)
    check((types[layer] == "full_attention") == ((layer + 1) % period == 0),
          "a GGUF file can't say which layers have a window: not every {}th lacks it", period);
  pairs.add_integer(prefix + "attention.sliding_window_pattern", static_cast<uint32_t>(period));
}

}  // namespace

RotaryConfig rotary_of(const json& config) {
  json keys = json::object();
  for (const char* key : {"rope_theta", "rope_scaling", "original_max_position_embeddings"})
    if (const auto value = config.find(key); value != config.end() && !value->is_null()) keys[key] = *value;
  return RotaryConfig::from_json(JsonObject::make(keys, "config.json"),
                                 {.context = config.value("max_position_embeddings", int64_t{2048})});
}

void add_rotary(GgufPairs& pairs, const std::string& prefix, const json& config, const YarnForm& yarn) {
  using Scaling = RotaryConfig::Scaling;
  const RotaryConfig rotary = rotary_of(config);
  if (rotary.scaling == Scaling::none) return;
  if (rotary.scaling != Scaling::linear)
    pairs.add_integer(prefix + "rope.scaling.original_context_length", static_cast<uint32_t>(rotary.original_context));
  if (rotary.scaling == Scaling::longrope)
    pairs.add_number(prefix + "rope.scaling.attn_factor", static_cast<float>(rotary.attention_factor));
  if (rotary.scaling != Scaling::linear && rotary.scaling != Scaling::yarn) return;  // the others are tensors
  pairs.add_text(prefix + "rope.scaling.type", rotary.scaling == Scaling::yarn ? "yarn" : "linear");
  pairs.add_number(prefix + "rope.scaling.factor", static_cast<float>(rotary.factor));
  if (rotary.scaling == Scaling::linear) return;
  const double usual = 1 + 0.1 * std::log(rotary.factor);
  const bool plain = yarn.log_multiplier > 0 && std::abs(rotary.attention_factor - 1) < 1e-6;
  if (plain) pairs.add_number(prefix + "rope.scaling.yarn_log_multiplier", static_cast<float>(yarn.log_multiplier));
  check(rotary.truncate == yarn.truncate, "a GGUF file of this architecture can't say yarn's truncate {}",
        rotary.truncate);
  check(plain || std::abs(rotary.attention_factor - usual) < 1e-6,
        "a GGUF file can't say yarn's attention_factor {}, only {} for its factor {}", rotary.attention_factor, usual,
        rotary.factor);
  pairs.add_number(prefix + "rope.scaling.yarn_beta_fast", static_cast<float>(rotary.beta_fast));
  pairs.add_number(prefix + "rope.scaling.yarn_beta_slow", static_cast<float>(rotary.beta_slow));
}

uint32_t integer_in(const json& config, const char* key) { return config.at(key).get<uint32_t>(); }

void add_decoder(GgufPairs& pairs, const std::string& prefix, const json& config, const YarnForm& yarn) {
  const uint32_t width = integer_in(config, "head_dim");
  const double share = config.value("partial_rotary_factor", 1.0);
  pairs.add_integer(prefix + "attention.value_length", width);
  pairs.add_integer(prefix + "rope.dimension_count", static_cast<uint32_t>(share * width));
  add_rotary(pairs, prefix, config, yarn);
}
void add_decoder(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config, YarnForm());
}

void add_granite(GgufPairs& pairs, const std::string& prefix, const json& config) {
  pairs.add_integer(prefix + "attention.head_count_kv", integer_in(config, "num_key_value_heads"));
  add_decoder(pairs, prefix, config);
}

void add_windowed(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config);
  if (config.value("sliding_window", json()).is_number())
    pairs.add_integer(prefix + "attention.sliding_window", integer_in(config, "sliding_window"));
}

void add_gemma(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config);
  pairs.add_integer(prefix + "attention.query_pre_scalar", integer_in(config, "query_pre_attn_scalar"));
  add_window_pattern(pairs, prefix, config);
}

void add_olmo2(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_windowed(pairs, prefix, config);
  if (config.at("model_type") == "olmo2") return;
  add_window_pattern(pairs, prefix, config);
  const json& local = config.at("rope_parameters").at("sliding_attention");
  check(local.at("rope_type") == "default" && local.at("rope_theta") == config.at("rope_theta"),
        "a GGUF file can't say that layers with a window turn by angles of their own");
}

/// Layers that have a window are those that turn; where there is none, all turn.
void add_exaone4(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_windowed(pairs, prefix, config);
  if (config.value("sliding_window", json()).is_number()) add_window_pattern(pairs, prefix, config);
}

void add_cohere2(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config);
  const json types = config.at("layer_types");
  for (size_t layer = 0; layer < types.size(); ++layer)
    check((types[layer] == "full_attention") == (layer % 4 == 3),
          "a GGUF file of this architecture can't say which layers have a window: not every fourth lacks it");
}

void add_mistral3(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config, YarnForm{.log_multiplier = 1});
  const json scaling = config.value("rope_scaling", json());
  if (scaling.is_object() && scaling.contains(RotaryConfig::query_growth_key))
    pairs.add_number(prefix + "attention.temperature_scale", scaling[RotaryConfig::query_growth_key].get<float>());
}

void add_gpt_oss(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config, YarnForm{.truncate = false});
  const json types = config.at("layer_types");
  for (size_t layer = 0; layer < types.size(); ++layer)
    check((types[layer] == "full_attention") == (layer % 2 == 1),
          "a GGUF file can't say which layers have a window: not every second lacks it");
}

void add_smollm3(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config);
  const json turns = config.at("no_rope_layers");
  for (size_t layer = 0; layer < turns.size(); ++layer)
    check((turns[layer] == 0) == ((layer + 1) % 4 == 0),
          "a GGUF file can't say which layers have no rotary positions: not every fourth");
}

void add_qwen_vl(GgufPairs& pairs, const std::string& prefix, const json& config) {
  add_decoder(pairs, prefix, config);
  auto sections = config.at("rope_parameters").at("mrope_section").get<std::vector<int32_t>>();
  sections.resize(4);
  pairs.add_integers(prefix + "rope.dimension_sections", sections);
}

}  // namespace vkformer
