#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/layers.h"
#include "models/families/modern_bert/modern_bert.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr const char *with_window = "sliding_attention", *without_window = "full_attention";
constexpr const char *cls = "cls", *mean = "mean";

/// transformers 5 keeps a list; older files say that each so-and-so-many-th layer, from the first on, has no window.
std::vector<bool> windows_of(const JsonObject& json, int64_t layers) {
  const int64_t period = integer_or(json, "global_attn_every_n_layers", 3, 1, most_layers);
  std::vector<bool> windows;
  for (int64_t i = 0; i < layers; ++i) windows.push_back(i % period != 0);
  if (!json.has("layer_types")) return windows;
  const nlohmann::json& types = json.value()["layer_types"];
  check(types.is_array() && std::ssize(types) == layers &&
            std::ranges::all_of(types, [](const auto& type) { return type == with_window || type == without_window; }),
        "{}: layer_types must name \"{}\" or \"{}\" for each of the {} layers", json.name(), with_window,
        without_window, layers);
  for (size_t i = 0; i < windows.size(); ++i) windows[i] = types[i] == with_window;
  return windows;
}

/// transformers 5 has an object for each kind of layer, older files a base for each; one of null is the other's.
void read_rotaries(const JsonObject& json, ModernBertConfig& c) {
  const auto read = [&](const char* kind, const char* old_key, RotaryConfig& rotary) {
    const RotaryConfig::Usual usual{.theta_key = old_key, .theta = rotary.theta, .context = c.context};
    const JsonObject all = json.has("rope_parameters") ? require_object(json, "rope_parameters") : json;
    rotary =
        RotaryConfig::from_json(all.has(kind) ? require_object(all, kind) : RotaryConfig::place(json), json, usual);
    check(rotary.scaling != RotaryConfig::Scaling::longrope, "{}: longrope is not supported", json.name());
  };
  read(without_window, "global_rope_theta", c.whole);
  const bool same = json.value().contains("local_rope_theta") && !json.has("local_rope_theta");
  if (same) c.window.theta = c.whole.theta;
  read(with_window, "local_rope_theta", c.window);
}

}  // namespace

ModernBertConfig ModernBertConfig::from_json(const JsonObject& json) {
  ModernBertConfig c;
  c.head = head_of(json, "modernbert");
  c.vocabulary = integer_or(json, "vocab_size", c.vocabulary, 1, most_rows);
  c.context = integer_or(json, "max_position_embeddings", c.context, 1, most_positions);
  c.width = integer_or(json, "hidden_size", c.width, 1, most_width);
  c.layers = integer_or(json, "num_hidden_layers", c.layers, 1, most_layers);
  c.heads = integer_or(json, "num_attention_heads", c.heads, 1, most_width);
  c.inner = integer_or(json, "intermediate_size", c.inner, 1, 4 * most_width);
  const bool heads_fit = c.width % (2 * c.heads) == 0 && c.width / c.heads <= 256;
  check(heads_fit, "{}: hidden_size {} does not give num_attention_heads {} an even width of at most 256", json.name(),
        c.width, c.heads);
  c.reach = integer_or(json, "local_attention", 2 * c.reach, 0, most_positions) / 2;
  c.windowed = windows_of(json, c.layers);
  read_rotaries(json, c);
  c.gate = gate_of(json, "hidden_activation", "gelu");
  c.head_activation = activation_of(json, "classifier_activation", "gelu");
  c.epsilon = number_or(json, "norm_eps", c.epsilon, 0, 1);
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  c.norm_bias = boolean_or(json, "norm_bias", c.norm_bias);
  c.attention_bias = boolean_or(json, "attention_bias", c.attention_bias);
  c.inner_bias = boolean_or(json, "mlp_bias", c.inner_bias);
  c.head_bias = boolean_or(json, "classifier_bias", c.head_bias);
  c.decoder_bias = boolean_or(json, "decoder_bias", c.decoder_bias);
  c.tied = boolean_or(json, "tie_word_embeddings", c.tied);
  const std::string pooling = string_or(json, "classifier_pooling", cls);
  check(pooling == cls || pooling == mean, "{}: classifier_pooling '{}' is not supported; {} and {} are", json.name(),
        printable(pooling, 60), cls, mean);
  c.pooling = pooling == cls ? Pooling::first : Pooling::mean;
  c.embedding_dropout = number_or(json, "embedding_dropout", c.embedding_dropout, 0, 0.99);
  c.attention_dropout = number_or(json, "attention_dropout", c.attention_dropout, 0, 0.99);
  c.inner_dropout = number_or(json, "mlp_dropout", c.inner_dropout, 0, 0.99);
  c.head_dropout = number_or(json, "classifier_dropout", c.head_dropout, 0, 0.99);
  c.classes = classes_of_head(json, c.head);
  return c;
}

nlohmann::json ModernBertConfig::to_json() const {
  nlohmann::json json = head_keys("modernbert", head, classes);
  auto types = nlohmann::json::array();
  for (const bool has_window : windowed) types.push_back(has_window ? with_window : without_window);
  json.update({{"vocab_size", vocabulary},
               {"max_position_embeddings", context},
               {"hidden_size", width},
               {"num_hidden_layers", layers},
               {"num_attention_heads", heads},
               {"intermediate_size", inner},
               {"local_attention", 2 * reach},
               {"layer_types", types},
               {"rope_parameters", {{without_window, whole.to_json()}, {with_window, window.to_json()}}},
               {"global_rope_theta", whole.theta},
               {"local_rope_theta", window.theta},
               {"hidden_activation", name_of(static_cast<Activation>(gate))},
               {"classifier_activation", name_of(head_activation)},
               {"norm_eps", epsilon},
               {"initializer_range", deviation},
               {"norm_bias", norm_bias},
               {"attention_bias", attention_bias},
               {"mlp_bias", inner_bias},
               {"classifier_bias", head_bias},
               {"decoder_bias", decoder_bias},
               {"tie_word_embeddings", tied},
               {"classifier_pooling", pooling == Pooling::first ? cls : mean},
               {"embedding_dropout", embedding_dropout},
               {"attention_dropout", attention_dropout},
               {"mlp_dropout", inner_dropout},
               {"classifier_dropout", head_dropout},
               {"torch_dtype", "float32"}});
  return json;
}

}  // namespace vkformer
