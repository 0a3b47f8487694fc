#include "models/families/vision/vision.h"

#include <nlohmann/json.hpp>

#include "models/families/vision/position_grid.h"
#include "shaders/add_bias/add_bias.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer {

namespace {

using Head = VisionConfig::Head;

constexpr const char* own_rows = "patches.own";           ///< which row of what is no position each position adds
constexpr const char* resized_table = "patches.weights";  ///< see position_weights()
constexpr const char* patch_mean = "patches.mean";
constexpr int64_t head_stream = int64_t{1} << 20;  ///< its dropout draws from here on

class Builder {
 public:
  Builder(Graph& graph, const VisionConfig& config, const Pass& pass, int64_t first_stream = 0)
      : config_(config), names_(names_of(config)), graph_(graph), layers_(graph, pass, first_stream) {}

  Value hidden() {
    const Graph::Scope scope(graph_, config_.head == Head::vector ? "picture" : "");
    const Value x = states(config_.stack.count);
    return config_.is_clip() ? x : norm(x, names_.last_norm);
  }

  /// Behind so many layers.
  Value states(int64_t count) {
    Value x = embed();
    if (!names_.first_norm.empty()) x = norm(x, names_.first_norm);
    EncoderStack stack = config_.stack;
    stack.count = count;
    return add_layers(layers_, stack, layers_.drop(x, stack.dropout));
  }

  Value head(Value hidden) {
    const Graph::Scope scope(graph_, "head");
    switch (config_.head) {
      case Head::states: return hidden;
      case Head::classes: return class_logits(hidden);
      case Head::vector: break;
    }
    if (config_.is_siglip()) return pool(hidden);
    const Value pooled = norm(first_rows(graph_, hidden), names_.last_norm);
    if (config_.projection == 0) return pooled;
    return layers_.linear(pooled, "visual_projection", config_.projection, {.bias = false});
  }

 private:
  std::string named(std::string_view name) const { return join_names(names_.embeddings, name); }
  Value norm(Value x, const std::string& name) { return layers_.layer_norm(x, name, config_.stack.epsilon); }

  Value embed() {
    const Graph::Scope scope(graph_, "embeddings");
    const int64_t C = config_.stack.width, T = config_.picture.positions(), K = config_.picture.columns();
    const int64_t P = config_.picture.patch, B = graph_.shape(layers_.pass().source)[0];
    const Value weight = layers_.tensor(named(names_.patches) + ".weight", {C, config_.picture.channels, P, P});
    const Value patches = matmul(graph_, layers_.pass().source, reshape(graph_, weight, {C, K}), {.transpose_b = true});
    const Value table = reshape(graph_, add(graph_, positions(), own()), {T * C});
    return reshape(graph_, add_bias(graph_, reshape(graph_, patches, {B, T * C}), table), {B, T, C});
  }

  Value positions() {
    const int64_t C = config_.stack.width, T = config_.picture.positions(), rows = config_.table_rows();
    const bool flat = config_.is_clip() || config_.is_siglip();
    const Value table =
        reshape(graph_, layers_.tensor(named(names_.positions), flat ? Shape{rows, C} : Shape{1, rows, C}), {rows, C});
    if (!config_.resizes()) return table;
    return matmul(graph_, layers_.constant(resized_table, {T, rows}), table);
  }

  /// [T, C]: a token of its own for each position in front, the convolution's bias for the patches.
  Value own() {
    const int64_t C = config_.stack.width, T = config_.picture.positions();
    std::vector<ColumnRange> parts;
    for (const std::string_view token : names_.front)
      parts.push_back(
          {reshape(graph_, layers_.tensor(named(token), config_.is_clip() ? Shape{C} : Shape{1, 1, C}), {1, C})});
    if (!config_.is_clip())
      parts.push_back({reshape(graph_, layers_.tensor(named(names_.patches) + ".bias", {C}), {1, C})});
    const auto count = static_cast<int64_t>(parts.size());
    const Value table = reshape(graph_, join_columns(graph_, parts), {count, C});
    return embedding(graph_, table, layers_.constant(own_rows, {T}, DType::i32));
  }

  Value class_logits(Value hidden) {
    const auto classes = static_cast<int64_t>(config_.classes.names.size());
    const Value first = first_rows(graph_, hidden);
    if (config_.taught) {
      const Value by_class = layers_.linear(first, "cls_classifier", classes),
                  by_teacher = layers_.linear(first_rows(graph_, hidden, 1), "distillation_classifier", classes);
      return scale(graph_, add(graph_, by_class, by_teacher), 0.5);
    }
    if (!config_.is_dinov2()) return layers_.linear(first, "classifier", classes);
    const Shape shape = graph_.shape(hidden);
    const Value mean = matmul(graph_, swap_axes(graph_, hidden, 1), layers_.constant(patch_mean, {shape[1], 1}));
    const Value both = join_columns(graph_, {{first}, {reshape(graph_, mean, {shape[0], shape[2]})}});
    return layers_.linear(both, "classifier", classes);
  }

  /// SigLIP's attention of one learned query to all positions.
  Value pool(Value hidden) {
    const int64_t C = config_.stack.width, B = graph_.shape(hidden)[0];
    const std::string head = config_.prefix + "vision_model.head", attention = head + ".attention.";
    const Value weight = layers_.tensor(attention + "in_proj_weight", {3 * C, C});
    const Value bias = layers_.tensor(attention + "in_proj_bias", {3 * C});
    const auto project = [&](Value x) { return matmul(graph_, x, weight, {.transpose_b = true, .bias = bias}); };
    const Value probe = reshape(graph_, layers_.tensor(head + ".probe", {1, 1, C}), {1, C});
    const Value query = reshape(graph_, slice(graph_, project(probe), 0, C), {C});
    const Value queries = reshape(graph_, broadcast(graph_, first_rows(graph_, hidden), query), {B, 1, C});
    const Value seen = project(hidden);
    const int64_t heads = config_.stack.heads;
    Value x = vkformer::attention(graph_, {queries}, {seen, C}, {seen, 2 * C},
                                  {.heads = heads, .head_width = C / heads, .causal = false});
    x = layers_.linear(x, attention + "out_proj", C);
    const Value inner =
        layers_.linear(layers_.layer_norm(x, head + ".layernorm", config_.stack.epsilon), head + ".mlp.fc1",
                       config_.stack.inner, {.activation = config_.stack.activation});
    x = layers_.linear(inner, head + ".mlp.fc2", C, {.residual = x});
    return reshape(graph_, x, {B, C});
  }

  const VisionConfig& config_;
  VisionNames names_;
  Graph& graph_;
  Layers layers_;
};

}  // namespace

std::vector<ConstantSpec> constants_of(const VisionConfig& c) {
  const PictureShape& picture = c.picture;
  const int64_t T = picture.positions(), front = picture.front;
  std::vector<ConstantSpec> constants;
  // CLIP's patches have no bias: a row that is not there counts as zeros.
  constants.push_back({own_rows, {{T}, DType::i32}, [T, front, without = c.is_clip()] {
                         std::vector<float> rows(static_cast<size_t>(T), without ? -1 : static_cast<float>(front));
                         for (int64_t i = 0; i < front; ++i) rows[static_cast<size_t>(i)] = static_cast<float>(i);
                         return rows;
                       }});
  if (c.resizes())
    constants.push_back({resized_table, {{T, c.table_rows()}}, [front, side = c.table_height / picture.patch, picture] {
                           return position_weights(front, side, picture.height / picture.patch,
                                                   picture.width / picture.patch);
                         }});
  if (c.is_dinov2() && c.head == Head::classes)
    constants.push_back({patch_mean, {{T, 1}}, [T, front] {
                           std::vector<float> weights(static_cast<size_t>(T), 1 / static_cast<float>(T - front));
                           std::fill_n(weights.begin(), front, 0.0F);
                           return weights;
                         }});
  return constants;
}

Value picture_states(Graph& graph, const VisionConfig& config, const Pass& pass, int64_t layers) {
  return Builder(graph, config, pass).states(layers);
}

namespace {

Task task_of(const VisionConfig& c) {
  if (c.head == Head::states) return Task::states;
  if (c.head == Head::vector) return Task::vector;
  return vkformer::task_of(EncoderHead::sequence, c.classes.problem);
}

}  // namespace

Model make_vision(const VisionConfig& config) {
  Model model{.family = config.family,
              .task = task_of(config),
              .parameters = parameters_of(config),
              .context = config.picture.positions(),
              .picture = config.picture,
              .layers = config.stack.count};
  if (config.is_clip() || config.is_siglip())
    model.dropout_keys = {"attention_dropout"};
  else
    model.dropout_keys = {"hidden_dropout_prob", "attention_probs_dropout_prob"};
  model.constants = constants_of(config);
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass).hidden(); };
  model.head = [config](Graph& graph, const Pass& pass, Value hidden) {
    return Builder(graph, config, pass, head_stream).head(hidden);
  };
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  return model;
}

}  // namespace vkformer
