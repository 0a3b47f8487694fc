#include "models/families/vision/text_tower.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "runtime/check.h"
#include "shaders/embedding/embedding.h"

namespace vkformer {

namespace {

constexpr const char* token_table = "text_model.embeddings.token_embedding.weight";
constexpr const char* position_table = "text_model.embeddings.position_embedding.weight";
constexpr const char* last_norm = "text_model.final_layer_norm";

/// Under which the pooled state becomes a vector.
const char* projection_of(const TextTowerConfig& c) { return c.is_clip() ? "text_projection" : "text_model.head"; }

std::vector<ParameterSpec> parameters_of(const TextTowerConfig& c) {
  ParameterList list(c.deviation);
  list.normal(token_table, {c.vocabulary, c.stack.width});
  list.normal(position_table, {c.context, c.stack.width});
  add_parameters(list, c.stack);
  list.layer_norm(last_norm, c.stack.width);
  if (c.projection > 0) list.linear(projection_of(c), c.stack.width, c.projection, !c.is_clip());
  return list.take();
}

Value hidden_of(Graph& graph, const TextTowerConfig& c, const Pass& pass) {
  const Graph::Scope scope(graph, "text");
  Layers layers(graph, pass, int64_t{1} << 21);
  const Value x = embedding(graph, layers.tensor(token_table, {c.vocabulary, c.stack.width}), pass.ids,
                            {.position_table = layers.tensor(position_table, {c.context, c.stack.width})});
  return layers.layer_norm(add_layers(layers, c.stack, x), last_norm, c.stack.epsilon);
}

}  // namespace

TextTowerConfig TextTowerConfig::tower(const JsonObject& json, const std::string& family, int64_t projection) {
  TextTowerConfig c;
  c.family = family, c.projection = projection;
  const bool clip = c.is_clip();
  EncoderStack& s = c.stack;
  if (clip) s.width = 512, s.heads = 8, s.inner = 2048;
  c.vocabulary = integer_or(json, "vocab_size", clip ? 49408 : 32000, 1, most_rows);
  c.context = integer_or(json, "max_position_embeddings", clip ? 77 : 64, 1, most_positions);
  s.names = clip_layer_names;
  s.layers = "text_model.encoder.layers";
  s.width = integer_or(json, "hidden_size", s.width, 1, most_width);
  s.count = integer_or(json, "num_hidden_layers", s.count, 1, most_layers);
  s.heads = integer_or(json, "num_attention_heads", s.heads, 1, most_width);
  s.inner = integer_or(json, "intermediate_size", s.inner, 1, 4 * most_width);
  s.activation = activation_of(json, "hidden_act", clip ? "quick_gelu" : "gelu_pytorch_tanh");
  s.epsilon = number_or(json, "layer_norm_eps", clip ? 1e-5 : 1e-6, 0, 1);
  s.attention_dropout = number_or(json, "attention_dropout", 0, 0, 0.99);
  s.causal = clip;
  s.check_heads(json.name());
  if (!clip) c.projection = integer_or(json, "projection_size", s.width, 1, most_width);
  c.padding = integer_or(json, "pad_token_id", 1, 0, c.vocabulary - 1);
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  return c;
}

TextTowerConfig TextTowerConfig::from_json(const JsonObject& json) {
  const std::string family = require_string(json, "model_type");
  if (family != "clip_text_model") {
    architecture_of(json, {"SiglipTextModel"}, true);
    return tower(json, family, 0);
  }
  const bool projects = architecture_of(json, {"CLIPTextModelWithProjection", "CLIPTextModel"}, true) == 0;
  return tower(json, family, projects ? integer_or(json, "projection_dim", 512, 1, most_width) : 0);
}

nlohmann::json TextTowerConfig::to_json() const {
  nlohmann::json json = {{"model_type", family},
                         {"vocab_size", vocabulary},
                         {"max_position_embeddings", context},
                         {"hidden_size", stack.width},
                         {"num_hidden_layers", stack.count},
                         {"num_attention_heads", stack.heads},
                         {"intermediate_size", stack.inner},
                         {"hidden_act", name_of(stack.activation)},
                         {"layer_norm_eps", stack.epsilon},
                         {"attention_dropout", stack.attention_dropout},
                         {"pad_token_id", padding},
                         {"initializer_range", deviation},
                         {"torch_dtype", "float32"}};
  if (projection > 0) json[is_clip() ? "projection_dim" : "projection_size"] = projection;
  json["architectures"] = {!is_clip()       ? "SiglipTextModel"
                           : projection > 0 ? "CLIPTextModelWithProjection"
                                            : "CLIPTextModel"};
  return json;
}

Model make_text_tower(const TextTowerConfig& config) {
  Model model{.family = config.family,
              .task = Task::vector,
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = config.context,
              .layers = config.stack.count,
              .fill = config.is_clip() ? -1 : config.padding,
              .dropout_keys = {"attention_dropout"}};
  model.hidden = [config](Graph& graph, const Pass& pass) { return hidden_of(graph, config, pass); };
  model.head = [config](Graph& graph, const Pass& pass, Value hidden) {
    const Graph::Scope scope(graph, "head");
    Layers layers(graph, pass);
    const Shape shape = graph.shape(hidden);
    const Value pooled = config.is_clip() ? layers.last_rows(hidden) : first_rows(graph, hidden, shape[1] - 1);
    if (config.projection == 0) return pooled;
    return layers.linear(pooled, projection_of(config), config.projection, {.bias = !config.is_clip()});
  };
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  return model;
}

}  // namespace vkformer
