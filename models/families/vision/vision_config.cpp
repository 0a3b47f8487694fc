#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/vision/vision.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

using Head = VisionConfig::Head;

constexpr int64_t most_pixels = 1 << 14;  ///< to a side

constexpr EncoderStack::Names vit_names{.attention = "attention.attention",
                                        .query = "query",
                                        .key = "key",
                                        .value = "value",
                                        .output = "attention.output.dense",
                                        .attention_norm = "layernorm_before",
                                        .inner = "intermediate.dense",
                                        .outer = "output.dense",
                                        .inner_norm = "layernorm_after"};

constexpr EncoderStack::Names dinov2_names = [] {
  EncoderStack::Names names = vit_names;
  names.attention_norm = "norm1", names.inner_norm = "norm2";
  names.inner = "mlp.fc1", names.outer = "mlp.fc2";
  names.attention_scale = "layer_scale1.lambda1", names.inner_scale = "layer_scale2.lambda1";
  return names;
}();

/// Height and width: one number for both, or a list of two.
std::pair<int64_t, int64_t> sides_of(const JsonObject& json, const char* key, int64_t usual) {
  if (!json.has(key) || !json.value()[key].is_array()) {
    const int64_t side = integer_or(json, key, usual, 1, most_pixels);
    return {side, side};
  }
  const nlohmann::json& list = json.value()[key];
  const auto fits = [](const nlohmann::json& side) {
    return side.is_number_integer() && side.get<int64_t>() >= 1 && side.get<int64_t>() <= most_pixels;
  };
  check(list.size() == 2 && std::ranges::all_of(list, fits), "{}: {} must be a height and a width from 1 to {}",
        json.name(), key, most_pixels);
  return {list[0].get<int64_t>(), list[1].get<int64_t>()};
}

void read_picture(const JsonObject& json, VisionConfig& c, int64_t usual_patch) {
  std::tie(c.table_height, c.table_width) = sides_of(json, "image_size", 224);
  const auto [patch, other] = sides_of(json, "patch_size", usual_patch);
  check(patch == other, "{}: patch_size {} x {} is not supported; squares are", json.name(), patch, other);
  check(c.table_height >= patch && c.table_width >= patch, "{}: image_size {} x {} has no patch of {} x {}",
        json.name(), c.table_height, c.table_width, patch, patch);
  const int64_t channels = integer_or(json, "num_channels", 3, 1, 3);
  check(channels == 3, "{}: num_channels {} is not supported; 3 is", json.name(), channels);
  c.picture = {.height = c.table_height, .width = c.table_width, .channels = channels, .patch = patch};
}

/// DINOv2's pictures of another size.
void read_picture_size(const JsonObject& json, VisionConfig& c) {
  if (!json.has(picture_size_key)) return;
  std::tie(c.picture.height, c.picture.width) = sides_of(json, picture_size_key, 0);
  check(c.picture.height >= c.picture.patch && c.picture.width >= c.picture.patch,
        "{}: {} {} x {} has no patch of {} x {}", json.name(), picture_size_key, c.picture.height, c.picture.width,
        c.picture.patch, c.picture.patch);
  check(!c.resizes() || c.table_height == c.table_width,
        "{}: image_size {} x {} is no square, so its positions can't be interpolated", json.name(), c.table_height,
        c.table_width);
}

void read_layers(const JsonObject& json, EncoderStack& s, const char* usual_activation, double usual_epsilon) {
  s.width = integer_or(json, "hidden_size", s.width, 1, most_width);
  s.count = integer_or(json, "num_hidden_layers", s.count, 1, most_layers);
  s.heads = integer_or(json, "num_attention_heads", s.heads, 1, most_width);
  s.inner = integer_or(json, "intermediate_size", s.inner, 1, 4 * most_width);
  s.activation = activation_of(json, "hidden_act", usual_activation);
  s.epsilon = number_or(json, "layer_norm_eps", usual_epsilon, 0, 1);
  s.check_heads(json.name());
}

void read_dinov2(const JsonObject& json, VisionConfig& c) {
  EncoderStack& s = c.stack;
  c.mlp_ratio = integer_or(json, "mlp_ratio", 4, 1, 1024);
  s.inner = s.width * c.mlp_ratio;
  s.gated = boolean_or(json, "use_swiglu_ffn", false);
  if (s.gated) s.inner = (s.inner * 2 / 3 + 7) / 8 * 8;
  s.scale_start = number_or(json, "layerscale_value", 1, -1e9, 1e9);
  check(s.scale_start != 0, "{}: layerscale_value 0 leaves nothing of a layer", json.name());
  check(number_or(json, "drop_path_rate", 0, 0, 1) == 0, "{}: drop_path_rate is not supported; 0 is", json.name());
  s.names = dinov2_names;
  if (s.gated) s.names.inner = "mlp.weights_in", s.names.outer = "mlp.weights_out";
  read_picture_size(json, c);
}

/// Of ViT, DeiT and DINOv2.
void read_vit(const JsonObject& json, VisionConfig& c) {
  const std::string prefix = c.is_dinov2() ? "Dinov2" : c.is_deit() ? "DeiT" : "ViT";
  std::vector<std::string> known{prefix + "ForImageClassification", prefix + "Model"};
  if (c.is_deit()) known.push_back(prefix + "ForImageClassificationWithTeacher");
  const size_t found = architecture_of(json, known, true);
  c.head = found == 1 ? Head::states : Head::classes;
  c.taught = found == 2;
  read_picture(json, c, c.is_dinov2() ? 14 : 16);
  EncoderStack& s = c.stack;
  s.names = vit_names;
  s.layers = (c.is_dinov2() ? "dinov2" : c.is_deit() ? "deit" : "vit") + std::string(".encoder.layer");
  read_layers(json, s, "gelu", c.is_dinov2() ? 1e-6 : 1e-12);
  s.qkv_bias = boolean_or(json, "qkv_bias", true);
  s.dropout = number_or(json, "hidden_dropout_prob", 0, 0, 0.99);
  s.attention_dropout = number_or(json, "attention_probs_dropout_prob", 0, 0, 0.99);
  if (c.is_dinov2()) read_dinov2(json, c);
  if (c.head == Head::classes) c.classes = classes_of_head(json, EncoderHead::sequence);
}

nlohmann::json sides_json(int64_t height, int64_t width) {
  return height == width ? nlohmann::json(height) : nlohmann::json{height, width};
}

}  // namespace

VisionConfig VisionConfig::from_json(const JsonObject& json) {
  VisionConfig c;
  c.family = require_string(json, "model_type");
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  if (c.is_clip() || c.is_siglip()) {
    const bool projects =
        c.is_clip() && architecture_of(json, {"CLIPVisionModelWithProjection", "CLIPVisionModel"}, true) == 0;
    if (c.is_siglip()) architecture_of(json, {"SiglipVisionModel"}, true);
    return tower(json, c.family, projects ? integer_or(json, "projection_dim", 512, 1, most_width) : 0);
  }
  read_vit(json, c);
  c.picture.front = std::ssize(names_of(c).front);
  return c;
}

VisionConfig VisionConfig::tower(const JsonObject& json, const std::string& family, int64_t projection,
                                 const std::string& prefix) {
  VisionConfig c;
  c.family = family, c.head = Head::vector, c.projection = projection, c.prefix = prefix;
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  read_picture(json, c, c.is_clip() ? 32 : 16);
  c.stack.names = clip_layer_names;
  c.stack.layers = prefix + "vision_model.encoder.layers";
  read_layers(json, c.stack, c.is_clip() ? "quick_gelu" : "gelu_pytorch_tanh", c.is_clip() ? 1e-5 : 1e-6);
  c.stack.attention_dropout = number_or(json, "attention_dropout", 0, 0, 0.99);
  check(boolean_or(json, "vision_use_head", true), "{}: vision_use_head false is not supported", json.name());
  c.picture.front = std::ssize(names_of(c).front);
  return c;
}

nlohmann::json VisionConfig::to_json() const {
  nlohmann::json json = {{"model_type", family},
                         {"hidden_size", stack.width},
                         {"num_hidden_layers", stack.count},
                         {"num_attention_heads", stack.heads},
                         {"hidden_act", name_of(stack.activation)},
                         {"layer_norm_eps", stack.epsilon},
                         {"image_size", sides_json(table_height, table_width)},
                         {"patch_size", picture.patch},
                         {"num_channels", picture.channels},
                         {"initializer_range", deviation},
                         {"torch_dtype", "float32"}};
  if (!is_dinov2()) json["intermediate_size"] = stack.inner;
  if (is_clip() || is_siglip()) {
    json["attention_dropout"] = stack.attention_dropout;
    if (projection > 0) json["projection_dim"] = projection;
    json["architectures"] = {is_siglip()      ? "SiglipVisionModel"
                             : projection > 0 ? "CLIPVisionModelWithProjection"
                                              : "CLIPVisionModel"};
    return json;
  }
  const std::string prefix = is_dinov2() ? "Dinov2" : is_deit() ? "DeiT" : "ViT";
  json["architectures"] = {prefix + (head == Head::states ? "Model"
                                     : taught             ? "ForImageClassificationWithTeacher"
                                                          : "ForImageClassification")};
  json["qkv_bias"] = stack.qkv_bias;
  json["hidden_dropout_prob"] = stack.dropout;
  json["attention_probs_dropout_prob"] = stack.attention_dropout;
  json.update(class_keys(classes));
  if (!is_dinov2()) return json;
  json["mlp_ratio"] = mlp_ratio;
  json["use_swiglu_ffn"] = stack.gated;
  json["layerscale_value"] = stack.scale_start;
  json["use_mask_token"] = false;  // which only its pre-training has
  if (resizes()) json[picture_size_key] = {picture.height, picture.width};
  return json;
}

}  // namespace vkformer
