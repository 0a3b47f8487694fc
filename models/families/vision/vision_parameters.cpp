#include "models/families/vision/vision.h"

namespace vkformer {

VisionNames names_of(const VisionConfig& c) {
  if (c.is_clip() || c.is_siglip()) {
    const std::string tower = c.prefix + "vision_model.";
    VisionNames names{.embeddings = tower + "embeddings",
                      .patches = "patch_embedding",
                      .positions = "position_embedding.weight",
                      .last_norm = tower + "post_layernorm"};
    if (c.is_siglip()) return names;
    names.front = {"class_embedding"};
    names.first_norm = tower + "pre_layrnorm";  // as the files spell it
    return names;
  }
  const std::string tower = c.prefix + (c.is_dinov2() ? "dinov2" : c.is_deit() ? "deit" : "vit");
  VisionNames names{.embeddings = tower + ".embeddings",
                    .patches = "patch_embeddings.projection",
                    .positions = "position_embeddings",
                    .front = {"cls_token"},
                    .last_norm = tower + ".layernorm"};
  if (c.is_deit()) names.front.emplace_back("distillation_token");
  return names;
}

namespace {

void add_embeddings(ParameterList& list, const VisionConfig& c, const VisionNames& names) {
  const int64_t C = c.stack.width, P = c.picture.patch;
  const auto named = [&](std::string_view name) { return join_names(names.embeddings, name); };
  for (const std::string_view token : names.front) list.normal(named(token), c.is_clip() ? Shape{C} : Shape{1, 1, C});
  list.normal(named(names.patches) + ".weight", {C, c.picture.channels, P, P});
  if (!c.is_clip()) list.zeros(named(names.patches) + ".bias", {C});
  const bool flat = c.is_clip() || c.is_siglip();
  list.normal(named(names.positions), flat ? Shape{c.table_rows(), C} : Shape{1, c.table_rows(), C});
  if (!names.first_norm.empty()) list.layer_norm(names.first_norm, C);
}

/// Of SigLIP: one query asks all positions, and a feed-forward layer follows.
void add_pooling(ParameterList& list, const VisionConfig& c) {
  const int64_t C = c.stack.width;
  const std::string head = c.prefix + "vision_model.head";
  list.normal(head + ".probe", {1, 1, C});
  list.normal(head + ".attention.in_proj_weight", {3 * C, C});
  list.zeros(head + ".attention.in_proj_bias", {3 * C});
  list.linear(head + ".attention.out_proj", C, C);
  list.layer_norm(head + ".layernorm", C);
  list.linear(head + ".mlp.fc1", C, c.stack.inner);
  list.linear(head + ".mlp.fc2", c.stack.inner, C);
}

}  // namespace

std::vector<ParameterSpec> parameters_of(const VisionConfig& c) {
  ParameterList list(c.deviation);
  const VisionNames names = names_of(c);
  add_embeddings(list, c, names);
  add_parameters(list, c.stack);
  // CLIP's norm is of the pooled state, which its classifier does not read.
  list.layer_norm(names.last_norm, c.stack.width);
  if (c.head == VisionConfig::Head::vector && c.is_siglip()) add_pooling(list, c);
  if (c.projection > 0) list.linear("visual_projection", c.stack.width, c.projection, false);
  if (c.head != VisionConfig::Head::classes) return list.take();
  const auto classes = static_cast<int64_t>(c.classes.names.size());
  const int64_t pooled = c.is_dinov2() ? 2 * c.stack.width : c.stack.width;
  list.linear(c.taught ? "cls_classifier" : "classifier", pooled, classes);
  if (c.taught) list.linear("distillation_classifier", pooled, classes);
  return list.take();
}

}  // namespace vkformer
