#include "models/seeing/qwen_vl.h"

#include <algorithm>

#include "models/families/layers.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rope/rope.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

constexpr double epsilon = 1e-6;
constexpr const char *patch_embedding = "visual.patch_embed.proj", *learned_positions = "visual.pos_embed.weight";
constexpr std::string_view gate_up = "gate_up_proj";  ///< what graphs call the two as one

/// The names of what the generations have in common.
struct Names {
  const char *inner, *outer;  ///< of the feed-forward layer
  const char *merger_norm, *merger_in, *merger_out;
};

Names names_of(const QwenVision& v) {
  if (v.generation == 3) return {"linear_fc1", "linear_fc2", "norm", "linear_fc1", "linear_fc2"};
  return {"fc1", "fc2", "ln_q", "mlp.0", "mlp.2"};
}

std::string block_name(int64_t layer) { return fmt::format("visual.blocks.{}", layer); }
std::string teller_name(size_t i) { return fmt::format("visual.deepstack_merger_list.{}", i); }

/// One view through the eyes.
class Builder {
 public:
  Builder(Graph& graph, const QwenVision& vision, int64_t size)
      : v_(vision), names_(names_of(vision)), graph_(graph), layers_(graph, {}), ones_(size) {
    rows_ = size * v_.patches_of_one();
    angles_ = graph.input("angles", {rows_, v_.head_width()});
    if (v_.window > 0) shown_ = graph.input("shown", {1, rows_}, DType::i32);
  }

  Value states() {
    Value x = embedded();
    std::vector<ColumnRange> parts{{}};
    for (int64_t layer = 0; layer < v_.layers; ++layer) {
      const Graph::Scope scope(graph_, fmt::format("layer.{}", layer));
      x = block(x, layer);
      const auto told = std::ranges::find(v_.told_first, layer);
      if (told == v_.told_first.end()) continue;
      const std::string name = teller_name(static_cast<size_t>(told - v_.told_first.begin()));
      const Value joint = reshape(graph_, x, {rows_ / v_.unit(), v_.unit() * v_.width});
      parts.push_back({merged(norm(joint, join_names(name, names_.merger_norm)), name)});
    }
    const std::string name = "visual.merger";
    parts.front() = {merged(norm(x, join_names(name, names_.merger_norm)), name)};
    return join_columns(graph_, parts);
  }

 private:
  Value norm(Value x, const std::string& name) {
    return v_.generation == 25 ? layers_.rms_norm(x, name, epsilon) : layers_.layer_norm(x, name, epsilon);
  }

  /// [1, rows, C]
  Value embedded() {
    const int64_t C = v_.width;
    const Value weight =
        layers_.tensor(std::string(patch_embedding) + ".weight", {C, 3, v_.frames, v_.patch, v_.patch});
    const Value bias = v_.generation == 3 ? layers_.tensor(std::string(patch_embedding) + ".bias", {C}) : Value{};
    return matmul(graph_, graph_.input("source", {1, rows_, v_.columns()}), reshape(graph_, weight, {C, v_.columns()}),
                  {.transpose_b = true, .bias = bias, .residual = v_.table_side > 0 ? positions() : Value{}});
  }

  /// Between four neighbours in the table.
  Value positions() {
    const Value table = layers_.tensor(learned_positions, {v_.table_side * v_.table_side, v_.width});
    const Value four = embedding(graph_, table, graph_.input("neighbours", {rows_, 4}, DType::i32));
    return reshape(graph_, matmul(graph_, graph_.input("weights", {rows_, 1, 4}), four), {1, rows_, v_.width});
  }

  Value block(Value x, int64_t layer) {
    const std::string name = block_name(layer);
    x = attend(norm(x, name + ".norm1"), name + ".attn", v_.window == 0 || v_.seeing_all.contains(layer), x);
    return feed_forward(norm(x, name + ".norm2"), name + ".mlp", x);
  }

  Value attend(Value x, const std::string& name, bool sees_all, Value residual) {
    const int64_t C = v_.width, D = v_.head_width();
    const Value turned = rope(graph_, layers_.linear(x, name + ".qkv", 3 * C), angles_,
                              {.heads = 2 * v_.heads, .head_width = D, .rotary_width = D});
    const Shape shape = sees_all ? Shape{1, rows_, 3 * C} : Shape{ones_, v_.patches_of_one(), 3 * C};
    const Value seen = reshape(graph_, turned, shape);
    AttentionOptions options{.heads = v_.heads, .head_width = D, .causal = false};
    if (shown_) options.mask = reshape(graph_, shown_, {shape[0], 1, shape[1]});
    const Value y = attention(graph_, {seen, 0}, {seen, C}, {seen, 2 * C}, options);
    return layers_.linear(reshape(graph_, y, {1, rows_, C}), name + ".proj", C, {.residual = residual});
  }

  Value feed_forward(Value x, const std::string& name, Value residual) {
    if (v_.generation == 25) {
      const Value both = layers_.linear(x, join_names(name, gate_up), 2 * v_.inner);
      return layers_.linear(gated_unit(graph_, Gate::silu, both), name + ".down_proj", v_.width,
                            {.residual = residual});
    }
    const Value inner = layers_.linear(x, join_names(name, names_.inner), v_.inner, {.activation = v_.activation});
    return layers_.linear(inner, join_names(name, names_.outer), v_.width, {.residual = residual});
  }

  /// What stands in a text, of patches that are normed.
  Value merged(Value x, const std::string& name) {
    const int64_t wide = v_.unit() * v_.width;
    const Value joint = reshape(graph_, x, {rows_ / v_.unit(), wide});
    const Value inner =
        layers_.linear(joint, join_names(name, names_.merger_in), wide, {.activation = Activation::gelu});
    return layers_.linear(inner, join_names(name, names_.merger_out), v_.out);
  }

  const QwenVision& v_;
  Names names_;
  Graph& graph_;
  Layers layers_;
  int64_t ones_, rows_ = 0;
  Value angles_, shown_ = {};
};

}  // namespace

Graph qwen_eyes(const QwenVision& vision, int64_t size) {
  Graph graph;
  graph.mark_output(Builder(graph, vision, size).states(), "states");
  return graph;
}

std::vector<ParameterSpec> qwen_parameters(const QwenVision& v) {
  ParameterList list(0.02);
  const Names names = names_of(v);
  const int64_t C = v.width;
  const auto add_norm = [&](const std::string& name, int64_t columns) {
    list.layer_norm(name, columns, v.generation != 25);
  };
  const auto add_merger = [&](const std::string& name, bool joint) {
    add_norm(join_names(name, names.merger_norm), joint ? v.unit() * C : C);
    list.linear(join_names(name, names.merger_in), v.unit() * C, v.unit() * C);
    list.linear(join_names(name, names.merger_out), v.unit() * C, v.out);
  };
  list.normal(std::string(patch_embedding) + ".weight", {C, 3, v.frames, v.patch, v.patch});
  if (v.generation == 3) list.zeros(std::string(patch_embedding) + ".bias", {C});
  if (v.table_side > 0) list.normal(learned_positions, {v.table_side * v.table_side, C});
  for (int64_t layer = 0; layer < v.layers; ++layer) {
    const std::string name = block_name(layer), mlp = name + ".mlp";
    add_norm(name + ".norm1", C);
    list.linear(name + ".attn.qkv", C, 3 * C);
    list.linear(name + ".attn.proj", C, C);
    add_norm(name + ".norm2", C);
    if (v.generation == 25) {
      list.joint_linear(mlp, gate_up, {{"gate_proj", v.inner}, {"up_proj", v.inner}}, C);
      list.linear(mlp + ".down_proj", v.inner, C);
    } else {
      list.linear(join_names(mlp, names.inner), C, v.inner);
      list.linear(join_names(mlp, names.outer), v.inner, C);
    }
  }
  add_merger("visual.merger", false);
  for (size_t i = 0; i < v.told_first.size(); ++i) add_merger(teller_name(i), true);
  return list.take();
}

}  // namespace vkformer
