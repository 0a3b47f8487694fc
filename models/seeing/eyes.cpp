#include "models/seeing/eyes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "models/families/config_keys.h"
#include "models/families/layers.h"
#include "models/families/registry.h"
#include "models/families/vision/vision.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rows/rows.h"

namespace vkformer {

namespace {

constexpr const char *tower_name = "vision_tower.", *projector = "multi_modal_projector";

/// Of how many of the encoder's layers "vision_feature_layer" means the states: -1 is the last one, 0 what goes into
/// the first.
int64_t layers_of(const JsonObject& config, int64_t count) {
  constexpr const char* key = "vision_feature_layer";
  check(!config.has(key) || config.value().at(key).is_number_integer(),
        "{}: {} is a list, but states of one layer alone are supported", config.name(), key);
  const int64_t layer = integer_or(config, key, -2, -count - 1, count);
  return layer < 0 ? count + 1 + layer : layer;
}

/// Whether the class token's state is among those that a text gets.
bool keeps_front(const JsonObject& config) {
  constexpr const char* key = "vision_feature_select_strategy";
  const std::string strategy = string_or(config, key, "default");
  check(strategy == "default" || strategy == "full", "{}: {} is {}; supported are \"default\" and \"full\"",
        config.name(), key, in_quotes(strategy));
  return strategy == "full";
}

void check_text(const JsonObject& config) {
  const std::string type = require_string(require_object(config, "text_config"), "model_type");
  check(type == "llama" || type == "mistral" || type == "qwen2",
        "{}: text_config is of {}; with eyes llama, mistral and qwen2 are supported", config.name(), in_quotes(type));
}

/// Without what hidden() does not read.
void leave_unread(Model& model) {
  Graph graph;
  const Pass pass{.source = graph.input("source", {1, model.picture.positions(), model.picture.columns()})};
  graph.mark_output(model.hidden(graph, pass), "states");
  std::set<std::string> read;
  for (const Value tensor : graph.persistents()) read.insert(graph.info(tensor).name);
  std::erase_if(model.parameters, [&](const ParameterSpec& parameter) {
    return !read.contains(parameter.name) && !read.contains(parameter.joint);
  });
  std::erase_if(model.constants, [&](const ConstantSpec& constant) { return !read.contains(constant.name); });
}

/// transformers 5 leaves out a part of the encoder's names, and 4.5x puts "model." before all.
void add_other_names(std::vector<ParameterSpec>& parameters) {
  const std::string full = std::string(tower_name) + "vision_model.";
  for (ParameterSpec& parameter : parameters) {
    if (parameter.name.starts_with(full))
      parameter.other_names.push_back(tower_name + parameter.name.substr(full.size()));
    parameter.other_names.push_back("model." + parameter.name);
    if (parameter.name.starts_with(full))
      parameter.other_names.push_back(std::string("model.") + tower_name + parameter.name.substr(full.size()));
  }
}

Eyes make_llava(const JsonObject& config) {
  check_text(config);
  const JsonObject vision_config = require_object(config, "vision_config");
  const std::string type = string_or(vision_config, "model_type", "clip_vision_model");
  check(type == "clip_vision_model", "{}: vision_config is of {}; CLIP's (clip_vision_model) are supported",
        config.name(), in_quotes(type));
  const VisionConfig vision = VisionConfig::tower(vision_config, type, 0, tower_name);
  const int64_t layers = layers_of(config, vision.stack.count);
  const int64_t front = keeps_front(config) ? 0 : vision.picture.front;
  const Model text = make_model(config);
  const int64_t width = width_of(text);
  const bool bias = boolean_or(config, "multimodal_projector_bias", true);
  const Activation activation = activation_of(config, "projector_hidden_act", "gelu");

  Eyes eyes{.positions = vision.picture.positions() - front};
  const char* key = config.has("image_token_index") ? "image_token_index" : "image_token_id";
  eyes.token = static_cast<int32_t>(integer_or(config, key, 32000, 0, text.vocabulary - 1));
  Model& model = eyes.model;
  model.family = require_string(config, "model_type");
  model.task = Task::states;
  model.picture = vision.picture;
  model.layers = layers;
  model.config = std::make_shared<const nlohmann::json>(config.value());
  model.constants = constants_of(vision);
  ParameterList list(0.02);
  list.linear(join_names(projector, "linear_1"), vision.stack.width, width, bias);
  list.linear(join_names(projector, "linear_2"), width, width, bias);
  model.parameters = parameters_of(vision);
  std::ranges::move(list.take(), std::back_inserter(model.parameters));
  model.hidden = [=, positions = eyes.positions](Graph& graph, const Pass& pass) {
    const Value states = picture_states(graph, vision, pass, layers);
    const Value seen =
        rows(graph, reshape(graph, states, {vision.picture.positions(), vision.stack.width}), front, positions);
    Layers between(graph, pass);
    const Value inner =
        between.linear(seen, join_names(projector, "linear_1"), width, {.bias = bias, .activation = activation});
    return reshape(graph, between.linear(inner, join_names(projector, "linear_2"), width, {.bias = bias}),
                   {1, positions, width});
  };
  model.head = [](Graph&, const Pass&, Value states) { return states; };
  leave_unread(model);
  add_other_names(model.parameters);
  return eyes;
}

}  // namespace

int64_t Eyes::weight_bytes() const {
  int64_t sum = 0;
  for (const ParameterSpec& parameter : model.parameters) sum += parameter.stored().bytes();
  return sum;
}

bool has_eyes(const JsonObject& config) { return string_or(config, "model_type", "") == "llava"; }

Eyes make_eyes(const JsonObject& config) {
  const std::string type = string_or(config, "model_type", "");
  check(has_eyes(config), "{}: this {} model has no eyes here; pictures can be shown to models of llava", config.name(),
        printable(type, 60));
  return make_llava(config);
}

}  // namespace vkformer
