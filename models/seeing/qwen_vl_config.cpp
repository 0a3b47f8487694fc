#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "models/families/registry.h"
#include "models/seeing/eye_parts.h"
#include "models/seeing/qwen_vl.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr int64_t most_layers = 1024, most_width = 1 << 16, most_patch = 256;

/// A list of numbers of layers.
std::vector<int64_t> layers_or(const JsonObject& json, const char* key, std::vector<int64_t> usual, int64_t layers) {
  if (!json.has(key)) return usual;
  const nlohmann::json& list = json.value()[key];
  const auto fits = [&](const nlohmann::json& layer) {
    return layer.is_number_integer() && layer.get<int64_t>() >= 0 && layer.get<int64_t>() < layers;
  };
  check(list.is_array() && std::ranges::all_of(list, fits), "{}: {} must be a list of layers, from 0 to {}",
        json.name(), key, layers - 1);
  return list.get<std::vector<int64_t>>();
}

void read_windows(const JsonObject& json, QwenVision& v) {
  const int64_t pixels = integer_or(json, "window_size", 112, 1, most_width);
  v.window = pixels / v.merge / v.patch;
  check(v.window > 0, "{}: window_size {} has no {} x {} patches of {}", json.name(), pixels, v.merge, v.merge,
        v.patch);
  const auto all = layers_or(json, "fullatt_block_indexes", {7, 15, 23, 31}, v.layers);
  v.seeing_all.insert(all.begin(), all.end());
}

void read_table(const JsonObject& json, QwenVision& v) {
  const int64_t positions = integer_or(json, "num_position_embeddings", 2304, 1, int64_t{1} << 24);
  v.table_side = static_cast<int64_t>(std::sqrt(static_cast<double>(positions)));
  check(v.table_side * v.table_side == positions, "{}: num_position_embeddings {} is no square", json.name(),
        positions);
  v.told_first = layers_or(json, "deepstack_visual_indexes", {8, 16, 24}, v.layers);
  check(std::ranges::is_sorted(v.told_first) && std::ranges::adjacent_find(v.told_first) == v.told_first.end(),
        "{}: deepstack_visual_indexes must be in order, each once", json.name());
}

}  // namespace

QwenVision QwenVision::from_json(const JsonObject& config) {
  const std::string type = require_string(config, "model_type");
  const JsonObject json = require_object(config, "vision_config");
  QwenVision v{.generation = type == "qwen2_vl" ? 2 : type == "qwen2_5_vl" ? 25 : 3};
  const bool third = v.generation == 3;
  v.layers = integer_or(json, "depth", third ? 27 : 32, 1, most_layers);
  v.heads = integer_or(json, "num_heads", 16, 1, most_width);
  v.patch = integer_or(json, "patch_size", third ? 16 : 14, 1, most_patch);
  v.frames = integer_or(json, "temporal_patch_size", 2, 1, 64);
  v.merge = integer_or(json, "spatial_merge_size", 2, 1, 64);
  const int64_t channels = integer_or(json, "in_channels", integer_or(json, "in_chans", 3, 1, 64), 1, 64);
  check(channels == 3, "{}: in_channels {} is not supported; 3 is", json.name(), channels);
  if (v.generation == 2) {
    v.width = integer_or(json, "embed_dim", 1280, 1, most_width);
    v.inner = v.width * integer_or(json, "mlp_ratio", 4, 1, 64);
    v.out = integer_or(json, "hidden_size", 3584, 1, most_width);
  } else {
    v.width = integer_or(json, "hidden_size", third ? 1152 : 3584, 1, most_width);
    v.inner = integer_or(json, "intermediate_size", third ? 4304 : 3420, 1, 4 * most_width);
    v.out = integer_or(json, "out_hidden_size", 3584, 1, most_width);
  }
  const char* usual = third ? "gelu_pytorch_tanh" : v.generation == 2 ? "quick_gelu" : "silu";
  v.activation = activation_of(json, "hidden_act", usual);
  check(v.generation != 25 || v.activation == Activation::silu, "{}: hidden_act must be silu", json.name());
  check(v.width % v.heads == 0 && v.head_width() % 4 == 0 && v.head_width() <= 256,
        "{}: heads of {} / {} columns are not supported; multiples of 4 up to 256 are", json.name(), v.width, v.heads);
  if (v.generation == 25) read_windows(json, v);
  if (third) read_table(json, v);
  return v;
}

nlohmann::json QwenVision::settled() const {
  return {{"depth", layers},
          {"num_heads", heads},
          {"patch_size", patch},
          {"temporal_patch_size", frames},
          {"spatial_merge_size", merge},
          {generation == 2 ? "embed_dim" : "hidden_size", width},
          {"intermediate_size", inner},
          {"hidden_act", name_of(activation)},
          {"fullatt_block_indexes", seeing_all},
          {"window_size", window * merge * patch},
          {"num_position_embeddings", table_side * table_side},
          {"deepstack_visual_indexes", told_first}};
}

Eyes make_qwen_vl(const JsonObject& config) {
  const QwenVision vision = QwenVision::from_json(config);
  const Model text = make_model(config);
  check(vision.out == width_of(text), "{}: its eyes give {} columns, its text has {}", config.name(), vision.out,
        width_of(text));
  check(static_cast<bool>(text.angles), "{}: its positions have no mrope_section", config.name());
  check(std::ssize(vision.told_first) <= text.layers,
        "{}: deepstack_visual_indexes has {} layers, its text only {} to add them to", config.name(),
        vision.told_first.size(), text.layers);
  Eyes eyes;
  eyes.token = picture_token(config, "image_token_id", 151655, text.vocabulary);
  eyes.model.picture = {.patch = vision.patch};
  eyes.model.layers = vision.layers;
  eyes.model.parameters = qwen_parameters(vision);
  eyes.any_size = {.factor = vision.patch * vision.merge,
                   .parts = 1 + std::ssize(vision.told_first),
                   .view = [vision](std::span<const float> pixels, int64_t height,
                                    int64_t width) { return qwen_view(vision, pixels, height, width); },
                   .graph = [vision](int64_t size) { return qwen_eyes(vision, size); }};
  finish_eyes(eyes, config, {{"vision_config", vision.settled()}});
  for (ParameterSpec& parameter : eyes.model.parameters) parameter.other_names = {"model." + parameter.name};
  return eyes;
}

}  // namespace vkformer
