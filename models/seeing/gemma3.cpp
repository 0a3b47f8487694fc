#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "models/families/registry.h"
#include "models/families/vision/vision.h"
#include "models/seeing/eye_parts.h"
#include "runtime/check.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

namespace {

constexpr const char *soft_projection = "multi_modal_projector.mm_input_projection_weight",
                     *soft_norm = "multi_modal_projector.mm_soft_emb_norm";
constexpr const char* mean_pooling =
    "mean_pooling";  ///< [positions, patches]: the mean of the patches of each position

/// Of a grid of side x side patches, blocks of factor x factor.
std::vector<float> mean_of_blocks(int64_t side, int64_t factor) {
  const int64_t blocks = side / factor;
  std::vector<float> weights(static_cast<size_t>(blocks * blocks * side * side), 0);
  for (int64_t y = 0; y < side; ++y)
    for (int64_t x = 0; x < side; ++x)
      weights[static_cast<size_t>((y / factor * blocks + x / factor) * side * side + y * side + x)] =
          1 / static_cast<float>(factor * factor);
  return weights;
}

}  // namespace

Eyes make_gemma3(const JsonObject& config) {
  check_writer(config);
  const VisionConfig vision = VisionConfig::tower(without_pooling(require_object(config, "vision_config")),
                                                  "siglip_vision_model", 0, vision_tower);
  const int64_t side = vision.picture.height / vision.picture.patch, patches = vision.picture.patches();
  const int64_t positions = integer_or(config, "mm_tokens_per_image", 256, 1, patches);
  const auto blocks = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(positions))));
  check(vision.picture.height == vision.picture.width && blocks * blocks == positions && side % blocks == 0,
        "{}: {} x {} patches make no {} positions of square blocks (mm_tokens_per_image)", config.name(), side,
        vision.picture.width / vision.picture.patch, positions);
  const Model text = make_model(config);
  const int64_t width = width_of(text), columns = vision.stack.width;

  Eyes eyes{.positions = positions, .mark = "<start_of_image>"};
  eyes.before = "\n\n" + eyes.mark;
  eyes.after = "<end_of_image>\n\n";
  const char* key = config.has("image_token_id") ? "image_token_id" : "image_token_index";
  eyes.token = picture_token(config, key, 262144, text.vocabulary);
  eyes.model.picture = vision.picture;
  eyes.model.layers = vision.stack.count;
  eyes.model.constants = constants_of(vision);
  eyes.model.constants.push_back(
      {mean_pooling, {{positions, patches}}, [=] { return mean_of_blocks(side, side / blocks); }});
  eyes.model.parameters = parameters_of(vision);
  ParameterList list(0.02);
  list.rms_norm(soft_norm, columns);
  list.normal(soft_projection, {columns, width});
  std::ranges::move(list.take(), std::back_inserter(eyes.model.parameters));
  eyes.model.hidden = [=](Graph& graph, const Pass& pass) {
    Layers layers(graph, pass);
    const Value states = layers.layer_norm(picture_states(graph, vision, pass, vision.stack.count),
                                           names_of(vision).last_norm, vision.stack.epsilon);
    const Value means =
        matmul(graph, layers.constant(mean_pooling, {positions, patches}), reshape(graph, states, {patches, columns}));
    const Value normed = layers.rms_norm(means, soft_norm, vision.stack.epsilon, 1);
    return reshape(graph, matmul(graph, normed, layers.tensor(soft_projection, {columns, width})),
                   {1, positions, width});
  };
  finish_eyes(eyes, config, {{"vision_config", vision.to_json()}, {"mm_tokens_per_image", positions}});
  add_tower_names(eyes.model.parameters);
  return eyes;
}

}  // namespace vkformer
