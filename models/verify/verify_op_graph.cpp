#include "models/verify/verify_op_graph.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/rotary.h"
#include "models/verify/verify_parts.h"
#include "runtime/check.h"
#include "shaders/attention/attention.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/embedding/embedding.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rms_norm/rms_norm.h"
#include "shaders/rope/rope.h"
#include "shaders/softmax/softmax.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer {

Value OpGraph::input(const std::string& tensor) {
  if (values_.contains(tensor)) return graph.find(tensor);
  const TensorEntry& entry = file_.require(recorded_.name + "/" + tensor);
  const Shape shape{std::span(entry.shape)};
  check(shape.elements() > 0, "tensor '{}' is empty", entry.name);
  if (entry.dtype == FileDType::i32) return input(tensor, shape, ints(tensor));
  return input(tensor, shape, floats(tensor));
}

Value OpGraph::input(const std::string& name, const Shape& shape, std::vector<float> values) {
  values_[name] = std::move(values);
  return graph.input(name, shape);
}

Value OpGraph::input(const std::string& name, const Shape& shape, std::vector<int32_t> values) {
  values_[name] = std::move(values);
  return graph.input(name, shape, DType::i32);
}

std::vector<float> OpGraph::floats(const std::string& tensor) const {
  return read_floats(file_, recorded_.name + "/" + tensor);
}

std::vector<int32_t> OpGraph::ints(const std::string& tensor) const {
  return read_ints(file_, recorded_.name + "/" + tensor);
}

void OpGraph::feed(Program& program) const {
  for (const auto& entry : values_)
    std::visit([&](const auto& values) { program.write(entry.first, values); }, entry.second);
}

namespace {

/// The shape of `value`, which must have so many dimensions.
Shape shape_of(OpGraph& op, Value value, int wanted, std::string_view what) {
  const Shape& shape = op.graph.shape(value);
  check(shape.rank() == wanted, "{} is {}, it needs {} dimensions", what, shape.to_string(), wanted);
  return shape;
}

double epsilon(const OpGraph& op) { return require_number(op.attributes(), "eps", 0, 1); }

float scale_of(const OpGraph& op) { return static_cast<float>(number_or(op.attributes(), "scale", 1, -1e6, 1e6)); }

/// i32 [B, 1, S] of the attribute `lengths`; absent when that is null.
Value length_mask(OpGraph& op, int64_t batches, int64_t keys) {
  if (!op.attributes().has("lengths")) return {};
  const nlohmann::json& lengths = op.attributes().value().at("lengths");
  check(lengths.is_array() && lengths.size() == static_cast<size_t>(batches), "lengths needs {} numbers", batches);
  std::vector<int32_t> mask;
  for (const nlohmann::json& length : lengths) {
    check(length.is_number_integer(), "lengths holds {}, which is not a whole number", length.dump());
    for (int64_t s = 0; s < keys; ++s) mask.push_back(s < length.get<int64_t>());
  }
  return op.input("length mask", {batches, 1, keys}, std::move(mask));
}

/// [B, H, T, D] -> [B, T, H * D]
Value side_by_side(Graph& graph, Value x) {
  const Shape shape = graph.shape(x);
  return reshape(graph, swap_axes(graph, x, 1), {shape[0], shape[2], shape[1] * shape[3]});
}

/// [B, T, H * D] -> [B, H, T, D]
Value apart(Graph& graph, Value x, int64_t heads) {
  const Shape shape = graph.shape(x);
  return swap_axes(graph, reshape(graph, x, {shape[0], shape[1], heads, shape[2] / heads}), 1);
}

Value build_matmul(OpGraph& op) {
  Value a = op.input("a");
  const Value b = op.input("b");
  bool transpose_a = require_boolean(op.attributes(), "transpose_a");
  const bool transpose_b = require_boolean(op.attributes(), "transpose_b");
  if (transpose_a && transpose_b) {  // the one combination that matmul does not take
    a = swap_axes(op.graph, a, op.graph.shape(a).rank() - 2);
    transpose_a = false;
  }
  return matmul(op.graph, a, b, {.transpose_a = transpose_a, .transpose_b = transpose_b});
}

Value build_layer_norm(OpGraph& op) {
  return layer_norm(op.graph, op.input("x"), op.input("weight"), op.input("bias"), static_cast<float>(epsilon(op)));
}

Value build_rms_norm(OpGraph& op) {
  return rms_norm(op.graph, op.input("x"), op.input("weight"), static_cast<float>(epsilon(op)));
}

Value build_softmax(OpGraph& op) {
  const Value x = op.input("x");
  const Shape shape = shape_of(op, x, 4, "x");
  return softmax(op.graph, x,
                 {.scale = scale_of(op),
                  .causal = require_boolean(op.attributes(), "causal"),
                  .mask = length_mask(op, shape[0], shape[3])});
}

Value build_attention(OpGraph& op) {
  const Value q = op.input("q"), k = op.input("k"), v = op.input("v");
  const Shape q_shape = shape_of(op, q, 4, "q"), k_shape = shape_of(op, k, 4, "k"), v_shape = shape_of(op, v, 4, "v");
  AttentionOptions options{.heads = q_shape[1],
                           .kv_heads = k_shape[1],
                           .head_width = q_shape[3],
                           .value_width = v_shape[3],
                           .scale = scale_of(op),
                           .causal = require_boolean(op.attributes(), "causal"),
                           .mask = length_mask(op, k_shape[0], k_shape[2])};
  const auto& inputs = op.recorded().inputs;
  if (std::find(inputs.begin(), inputs.end(), "bias") != inputs.end()) options.bias = op.input("bias");
  Graph& graph = op.graph;
  const Value result =
      attention(graph, {side_by_side(graph, q)}, {side_by_side(graph, k)}, {side_by_side(graph, v)}, options);
  return apart(graph, result, q_shape[1]);
}

Value build_gelu(OpGraph& op) {
  const std::string approximate = require_string(op.attributes(), "approximate");
  check(approximate == "none" || approximate == "tanh", "approximate is '{}', not none or tanh", approximate);
  return activate(op.graph, approximate == "none" ? Activation::gelu : Activation::gelu_tanh, op.input("x"));
}

Value build_relu(OpGraph& op) { return activate(op.graph, Activation::relu, op.input("x")); }

Value build_silu(OpGraph& op) { return activate(op.graph, Activation::silu, op.input("x")); }

Value build_swiglu(OpGraph& op) { return gated_unit(op.graph, Gate::silu, op.input("gate"), op.input("up")); }

Value build_embedding(OpGraph& op) {
  return embedding(op.graph, op.input("weight"), op.input("ids"), {.scale = static_cast<double>(scale_of(op))});
}

Value build_cross_entropy(OpGraph& op) {
  return cross_entropy(op.graph, op.input("logits"), op.input("labels"),
                       number_or(op.attributes(), "label_smoothing", 0, 0, 1),
                       integer_or(op.attributes(), "ignore_index", -100, INT32_MIN, INT32_MAX));
}

/// Consecutive positions are what rope counts by itself; rows of others are taken from the table first.
Value build_rope(OpGraph& op) {
  const Value x = op.input("x");
  const Shape shape = shape_of(op, x, 4, "x");
  const std::vector<int32_t> positions = op.ints("positions");
  check(positions.size() == static_cast<size_t>(shape[2]), "{} positions, x is {}", positions.size(),
        shape.to_string());
  const auto [lowest, highest] = std::minmax_element(positions.begin(), positions.end());
  check(*lowest >= 0 && *highest < 1 << 20, "positions reach from {} to {}, 0 to 2^20 - 1 are possible", *lowest,
        *highest);
  const std::string style = require_string(op.attributes(), "style");
  check(style == "half" || style == "interleaved", "style is '{}', not half or interleaved", style);
  RopeOptions options{.heads = shape[1],
                      .head_width = shape[3],
                      .rotary_width = require_integer(op.attributes(), "rotary", 2, shape[3]),
                      .interleaved = style == "interleaved"};
  const RotaryConfig angles{.theta = require_number(op.attributes(), "theta", 1, 1e9)};
  const Shape table_shape{*highest + 1, options.rotary_width};
  Value table = op.input("table", table_shape, angles.table(table_shape[0], options.rotary_width));
  const auto gap = [](int32_t a, int32_t b) { return b != a + 1; };
  if (std::adjacent_find(positions.begin(), positions.end(), gap) == positions.end())
    options.position = op.input("first position", {1}, std::vector<int32_t>{positions.front()});
  else
    table = embedding(op.graph, table, op.input("positions"));
  return apart(op.graph, rope(op.graph, side_by_side(op.graph, x), table, options), shape[1]);
}

Value build_ffn(OpGraph& op) {
  Graph& graph = op.graph;
  const Value x = op.input("x");
  const auto product = [&](Value of, const char* weight) {
    return matmul(graph, of, op.input(weight), {.transpose_b = true});
  };
  if (require_string(op.attributes(), "kind") == "gated")
    return product(gated_unit(graph, Gate::silu, product(x, "gate"), product(x, "up")), "down");
  const std::string name = require_string(op.attributes(), "activation");
  check(name == "relu" || name == "gelu" || name == "gelu_tanh", "activation is '{}', not relu, gelu or gelu_tanh",
        name);
  const Activation activation = name == "relu"   ? Activation::relu
                                : name == "gelu" ? Activation::gelu
                                                 : Activation::gelu_tanh;
  const Value inner =
      matmul(graph, x, op.input("w1"), {.transpose_b = true, .bias = op.input("b1"), .activation = activation});
  return matmul(graph, inner, op.input("w2"), {.transpose_b = true, .bias = op.input("b2")});
}

constexpr std::pair<std::string_view, Value (*)(OpGraph&)> builders[] = {{"matmul", build_matmul},
                                                                         {"layer_norm", build_layer_norm},
                                                                         {"rms_norm", build_rms_norm},
                                                                         {"softmax", build_softmax},
                                                                         {"attention", build_attention},
                                                                         {"gelu", build_gelu},
                                                                         {"relu", build_relu},
                                                                         {"silu", build_silu},
                                                                         {"swiglu", build_swiglu},
                                                                         {"embedding", build_embedding},
                                                                         {"cross_entropy", build_cross_entropy},
                                                                         {"rope", build_rope},
                                                                         {"ffn", build_ffn}};

}  // namespace

Value build_op(OpGraph& op) {
  for (const auto& [name, build] : builders)
    if (name == op.recorded().op) return build(op);
  fail("no operator is called '{}'", op.recorded().op);
}

}  // namespace vkformer
