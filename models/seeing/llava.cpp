#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "models/families/registry.h"
#include "models/families/vision/vision.h"
#include "models/seeing/eye_parts.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rows/rows.h"

namespace vkformer {

namespace {

constexpr const char *first_layer = "multi_modal_projector.linear_1", *second_layer = "multi_modal_projector.linear_2";

/// Whether the first state, the class token's, is among those that a text gets.
bool keeps_first(const JsonObject& config) {
  constexpr const char* key = "vision_feature_select_strategy";
  const std::string strategy = string_or(config, key, "default");
  check(strategy == "default" || strategy == "full", "{}: {} is {}; supported are \"default\" and \"full\"",
        config.name(), key, in_quotes(strategy));
  return strategy == "full";
}

}  // namespace

int64_t feature_layers(const JsonObject& config, int64_t count, int64_t usual) {
  constexpr const char* key = "vision_feature_layer";
  check(!config.has(key) || config.value().at(key).is_number_integer(),
        "{}: {} is a list, but states of one layer alone are supported", config.name(), key);
  const int64_t layer = integer_or(config, key, usual, -count - 1, count);
  return layer < 0 ? count + 1 + layer : layer;
}

Eyes make_llava(const JsonObject& config) {
  check_writer(config);
  const JsonObject vision_config = without_pooling(require_object(config, "vision_config"));
  const std::string type = string_or(vision_config, "model_type", "clip_vision_model");
  if (type == "pixtral") return make_pixtral(config);
  check(type == "clip_vision_model" || type == "siglip_vision_model",
        "{}: vision_config is of {}; clip_vision_model, siglip_vision_model and pixtral are supported", config.name(),
        in_quotes(type));
  const VisionConfig vision = VisionConfig::tower(vision_config, type, 0, vision_tower);
  const int64_t layers = feature_layers(config, vision.stack.count, -2);
  // Versions of transformers differ in whether the last states are normed.
  check(type == "clip_vision_model" || layers < vision.stack.count,
        "{}: vision_feature_layer means SigLIP's last states, which are not supported; others are", config.name());
  // Of SigLIP, which has no class token, a patch's, as transformers does it.
  const int64_t front = keeps_first(config) ? 0 : 1;
  const Model text = make_model(config);
  const int64_t width = width_of(text);
  const bool bias = boolean_or(config, "multimodal_projector_bias", true);
  const Activation activation = activation_of(config, "projector_hidden_act", "gelu");

  Eyes eyes{.positions = vision.picture.positions() - front};
  const char* key = config.has("image_token_index") ? "image_token_index" : "image_token_id";
  eyes.token = picture_token(config, key, 32000, text.vocabulary);
  eyes.model.picture = vision.picture;
  eyes.model.layers = layers;
  eyes.model.constants = constants_of(vision);
  eyes.model.parameters = parameters_of(vision);
  ParameterList list(0.02);
  list.linear(first_layer, vision.stack.width, width, bias);
  list.linear(second_layer, width, width, bias);
  std::ranges::move(list.take(), std::back_inserter(eyes.model.parameters));
  eyes.model.hidden = [=, positions = eyes.positions](Graph& graph, const Pass& pass) {
    const Value states = picture_states(graph, vision, pass, layers);
    const Value all = reshape(graph, states, {vision.picture.positions(), vision.stack.width});
    Layers between(graph, pass);
    const Value inner = between.linear(rows(graph, all, front, positions), first_layer, width,
                                       {.bias = bias, .activation = activation});
    return reshape(graph, between.linear(inner, second_layer, width, {.bias = bias}), {1, positions, width});
  };
  finish_eyes(eyes, config,
              {{"vision_config", vision.to_json()},
               {"vision_feature_layer", layers},
               {"vision_feature_select_strategy", front == 0 ? "full" : "default"},
               {"projector_hidden_act", name_of(activation)}});
  add_tower_names(eyes.model.parameters);
  return eyes;
}

}  // namespace vkformer
