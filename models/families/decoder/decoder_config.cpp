#include "models/families/decoder/decoder_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/decoder_head.h"
#include "models/families/layers.h"
#include "runtime/check.h"
#include "shaders/attention/attention.h"

namespace vkformer {

namespace {

constexpr const char* share = "partial_rotary_factor";
constexpr const char* squared_relu = "relu2";
constexpr std::string_view windowed = "sliding_attention", full = "full_attention";

/// What the families' files call it.
std::string_view name_of_gate(Gate gate) {
  return gate == Gate::gelu_tanh ? "gelu_pytorch_tanh" : name_of(static_cast<Activation>(gate));
}

/// nullptr: it is a constant.
const char* epsilon_key(const Decoder& d) {
  switch (d.norm) {
    case Decoder::Norm::rms:
    case Decoder::Norm::rms_plain: return "rms_norm_eps";
    case Decoder::Norm::layer:
    case Decoder::Norm::gain: return "layer_norm_eps";
    case Decoder::Norm::plain: break;
  }
  return nullptr;
}

}  // namespace

void read_decoder(const JsonObject& json, Decoder& d, const char* architecture, const char* activation) {
  d.classes = read_decoder_head(json, d.family, architecture);
  d.vocabulary = integer_or(json, "vocab_size", d.vocabulary, 1, int64_t{1} << 24);
  d.context = integer_or(json, "max_position_embeddings", d.context, 1, int64_t{1} << 24);
  d.width = integer_or(json, "hidden_size", d.width, 1, most_width);
  d.inner = integer_or(json, "intermediate_size", d.inner, 1, 4 * most_width);
  d.layers.assign(
      static_cast<size_t>(integer_or(json, "num_hidden_layers", static_cast<int64_t>(d.layers.size()), 1, most_layers)),
      {});
  d.heads = integer_or(json, "num_attention_heads", d.heads, 1, most_width);
  // A family's usual value holds for an absent key; null stands for what follows from the others.
  const auto is_null = [&](const char* key) { return json.value().contains(key) && !json.has(key); };
  if (is_null("num_key_value_heads")) d.kv_heads = 0;
  if (is_null("head_dim")) d.head_width = 0;
  d.kv_heads = integer_or(json, "num_key_value_heads", d.kv_heads ? d.kv_heads : d.heads, 1, most_width);
  check(d.head_width || json.has("head_dim") || d.width % d.heads == 0,
        "{}: hidden_size {} is not a multiple of num_attention_heads {}", json.name(), d.width, d.heads);
  d.head_width = integer_or(json, "head_dim", d.head_width ? d.head_width : d.width / d.heads, 1, most_head_width);
  check(d.head_width % 2 == 0, "{}: head_dim {} is odd; rotary positions turn pairs", json.name(), d.head_width);
  check(d.heads % d.kv_heads == 0, "{}: num_attention_heads {} is not a multiple of num_key_value_heads {}",
        json.name(), d.heads, d.kv_heads);
  if (d.gated)
    d.gate = gate_of(json, activation, std::string(name_of_gate(d.gate)));
  else
    check(string_or(json, activation, squared_relu) == squared_relu, "{}: {} must be {}: nothing else is supported",
          json.name(), activation, squared_relu);
  if (const char* key = epsilon_key(d)) d.epsilon = number_or(json, key, d.epsilon, 0, 1);
  d.deviation = number_or(json, "initializer_range", d.deviation, 0, 10);
  d.attention_dropout = number_or(json, "attention_dropout", d.attention_dropout, 0, 0.99);
  d.tied = boolean_or(json, "tie_word_embeddings", d.tied);
}

nlohmann::json decoder_keys(const Decoder& d, const char* architecture, const char* activation) {
  nlohmann::json json = decoder_head_keys(d.family, architecture, d.classes);
  json.update(nlohmann::json{{"vocab_size", d.vocabulary},
                             {"max_position_embeddings", d.context},
                             {"hidden_size", d.width},
                             {"intermediate_size", d.inner},
                             {"num_hidden_layers", d.layers.size()},
                             {"num_attention_heads", d.heads},
                             {"num_key_value_heads", d.kv_heads},
                             {"head_dim", d.head_width},
                             {activation, d.gated ? name_of_gate(d.gate) : squared_relu},
                             {"initializer_range", d.deviation},
                             {"attention_dropout", d.attention_dropout},
                             {"tie_word_embeddings", d.tied},
                             {"torch_dtype", "float32"}});
  if (const char* key = epsilon_key(d)) json[key] = d.epsilon;
  return json;
}

void read_rotary(const JsonObject& json, Decoder& d, double usual_theta, bool parts) {
  d.rotary_share = number_or(RotaryConfig::place(json), share, number_or(json, share, d.rotary_share, 0, 1), 0, 1);
  check(parts || d.rotary_share == 1, "{}: {} {} is not supported; heads of {} turn as a whole", json.name(), share,
        d.rotary_share, d.family);
  check(d.turned() >= 2 && d.turned() % 2 == 0, "{}: {} columns of each head turn ({} {}); rotary positions turn pairs",
        json.name(), d.turned(), share, d.rotary_share);
  d.rotaries = {RotaryConfig::from_json(json, {.theta = usual_theta, .context = d.context})};
  d.rotaries[0].check_width(json, d.turned());
}

nlohmann::json part_rotary_keys(const Decoder& d) {
  nlohmann::json keys = d.rotaries[0].keys();
  keys[share] = keys["rope_parameters"][share] = d.rotary_share;
  return keys;
}

void read_rotaries(const JsonObject& json, Decoder& d, double usual_theta, double usual_local_theta,
                   const std::function<RotaryConfig(const RotaryConfig& full)>& local) {
  const RotaryConfig::Usual usual{.theta = usual_theta, .context = d.context};
  if (json.has("rope_parameters") && require_object(json, "rope_parameters").has(full)) {
    const JsonObject parameters = require_object(json, "rope_parameters");
    d.rotaries = {RotaryConfig::from_json(require_object(parameters, full), json, usual),
                  RotaryConfig::from_json(require_object(parameters, windowed), json,
                                          {.theta = usual_local_theta, .context = d.context})};
  } else {
    const RotaryConfig first = RotaryConfig::from_json(json, usual);
    d.rotaries = {first, local(first)};
  }
  for (const RotaryConfig& rotary : d.rotaries) rotary.check_width(json, d.turned());
  for (Decoder::Layer& layer : d.layers) layer.rotary = layer.window > 0 ? 1 : 0;
}

nlohmann::json rotary_keys(const Decoder& d) {
  nlohmann::json keys = d.rotaries[0].keys();
  keys["rope_parameters"] = {{full, d.rotaries[0].to_json()}, {windowed, d.rotaries[1].to_json()}};
  return keys;
}

double read_cap(const JsonObject& json, const char* key, double usual) {
  if (!json.value().contains(key)) return usual;
  return json.has(key) ? require_number(json, key, 1e-3, 1e6) : 0;
}

nlohmann::json cap_or_null(double cap) { return cap > 0 ? nlohmann::json(cap) : nlohmann::json(); }

int64_t window_of(const JsonObject& json, int64_t usual) {
  if (!json.value().contains("sliding_window")) return usual;
  return json.has("sliding_window") ? require_integer(json, "sliding_window", 1, int64_t{1} << 40) : 0;
}

void set_windows(const JsonObject& json, Decoder& d, int64_t window, const std::function<bool(int64_t)>& has_window) {
  if (!json.has("layer_types")) {
    for (size_t i = 0; i < d.layers.size(); ++i) d.layers[i].window = has_window(static_cast<int64_t>(i)) ? window : 0;
    return;
  }
  const std::vector<std::string> types = require_layer_names(json, "layer_types", {windowed, full}, d.layers.size());
  for (size_t i = 0; i < d.layers.size(); ++i) {
    check(types[i] == full || window > 0, "{}: layer_types has \"{}\", but there is no sliding_window", json.name(),
          windowed);
    d.layers[i].window = types[i] == full ? 0 : window;
  }
}

void read_upper_windows(const JsonObject& json, Decoder& d) {
  const int64_t first = integer_or(json, "max_window_layers", 28, 0, most_layers);
  const int64_t window = boolean_or(json, "use_sliding_window", false) ? window_of(json, 4096) : 0;
  set_windows(json, d, window, [&](int64_t layer) { return layer >= first; });
}

nlohmann::json upper_windows(const Decoder& d) {
  const nlohmann::json window = sliding_window(d);
  if (window.is_null()) return {{"use_sliding_window", false}};
  const auto first = std::ranges::find_if(d.layers, [](const Decoder::Layer& layer) { return layer.window > 0; });
  return {{"use_sliding_window", true},
          {"sliding_window", window},
          {"max_window_layers", first - d.layers.begin()},
          {"layer_types", layer_types(d)}};
}

nlohmann::json layer_types(const Decoder& d) {
  nlohmann::json types = nlohmann::json::array();
  for (const Decoder::Layer& layer : d.layers) types.push_back(layer.window ? windowed : full);
  return types;
}

nlohmann::json sliding_window(const Decoder& d) {
  for (const Decoder::Layer& layer : d.layers)
    if (layer.window) return layer.window;
  return nullptr;
}

}  // namespace vkformer
