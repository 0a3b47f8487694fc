#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "models/families/registry.h"
#include "models/families/vision/vision.h"
#include "models/seeing/eye_parts.h"
#include "runtime/check.h"
#include "shaders/embedding/embedding.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

namespace {

constexpr const char *idefics3_tower = "model.", *projection = "model.connector.modality_projection.proj";
constexpr const char* neighbours = "neighbours";  ///< the states that are joined, one position's after another's

/// The encoder's config, where absent keys have other values than SigLIP's own.
JsonObject idefics3_vision_config(const JsonObject& config) {
  const JsonObject given = require_object(config, "vision_config");
  nlohmann::json filled = {{"hidden_size", 1152},       {"intermediate_size", 3072}, {"num_hidden_layers", 12},
                           {"num_attention_heads", 16}, {"image_size", 224},         {"patch_size", 32}};
  filled.update(given.value());
  return JsonObject::make(std::move(filled), given.name());
}

/// "Pixel shuffle": of a grid of side x side states, which are joined: blocks of factor x factor, row by row.
std::vector<float> joined_states(int64_t side, int64_t factor) {
  std::vector<float> places;
  for (int64_t top = 0; top < side; top += factor)
    for (int64_t left = 0; left < side; left += factor)
      for (int64_t y = top; y < top + factor; ++y)
        for (int64_t x = left; x < left + factor; ++x) places.push_back(static_cast<float>(y * side + x));
  return places;
}

}  // namespace

Eyes make_idefics3(const JsonObject& config) {
  check_writer(config);
  const JsonObject vision_config = idefics3_vision_config(config);
  const VisionConfig vision = VisionConfig::tower(vision_config, "siglip_vision_model", 0, idefics3_tower);
  const int64_t side = vision.picture.height / vision.picture.patch, states = vision.picture.patches();
  const int64_t factor = integer_or(config, "scale_factor", 2, 1, 64);
  check(vision.picture.height == vision.picture.width && side % factor == 0,
        "{}: {} x {} patches are no whole blocks of scale_factor {}", config.name(), side,
        vision.picture.width / vision.picture.patch, factor);
  const Model text = make_model(config);
  const int64_t width = width_of(text), joined = factor * factor;

  Eyes eyes{.positions = states / joined, .tiled = true};
  eyes.token = picture_token(config, "image_token_id", 128257, text.vocabulary);
  eyes.model.picture = vision.picture;
  eyes.model.layers = vision.stack.count;
  eyes.model.constants = constants_of(vision);
  eyes.model.constants.push_back(
      {neighbours, {{states}, DType::i32}, [side, factor] { return joined_states(side, factor); }});
  eyes.model.parameters = parameters_of(vision);
  ParameterList list(0.02);
  list.linear(projection, vision.stack.width * joined, width, false);
  std::ranges::move(list.take(), std::back_inserter(eyes.model.parameters));
  eyes.model.hidden = [=, positions = eyes.positions](Graph& graph, const Pass& pass) {
    Layers layers(graph, pass);
    const Value normed = layers.layer_norm(picture_states(graph, vision, pass, vision.stack.count),
                                           names_of(vision).last_norm, vision.stack.epsilon);
    const Value grid = reshape(graph, normed, {states, vision.stack.width});
    const Value blocks = embedding(graph, grid, layers.constant(neighbours, {states}, DType::i32));
    const Value rows = reshape(graph, blocks, {positions, vision.stack.width * joined});
    return reshape(graph, layers.linear(rows, projection, width, {.bias = false}), {1, positions, width});
  };
  finish_eyes(eyes, config, {{"vision_config", vision.to_json()}, {"scale_factor", factor}});
  return eyes;
}

}  // namespace vkformer
