#include "shaders/expert_sum/expert_sum.h"

#include "shaders/common/rows.h"
#include "shaders/expert_sum/expert_sum.args.h"

namespace vkformer {

namespace {

extern const Op expert_sum_backward_op;

/// The shape [.., C] of what x [.., k, C] sums up to.
Shape sum_of(const Shape& x) {
  std::vector<int64_t> dimensions(x.dimensions().begin(), x.dimensions().end());
  dimensions.erase(dimensions.end() - 2);
  return Shape(dimensions);
}

/// The shape [.., k] of its weights.
Shape slots_of(const Shape& x) { return Shape(x.dimensions().first(static_cast<size_t>(x.rank() - 1))); }

void check_inputs(const Node& node, size_t x, size_t weights) {
  check(node.in(x).rank() >= 2 && node.in(x).elements() > 0 && node.input_types[x].dtype == DType::f32,
        "[{}] x is {} {}, needs f32 [.., k, C]", node.op->name, name_of(node.input_types[x].dtype),
        node.in(x).to_string());
  check(!node.has_input(weights) || node.input_types[weights] == TensorType{slots_of(node.in(x))},
        "[{}] weights is {} {}, x is {}", node.op->name, name_of(node.input_types[weights].dtype),
        node.in(weights).to_string(), node.in(x).to_string());
}

// --- expert_sum: x, weights?, residual? -> y ---

Types infer(const Node& node) {
  check_inputs(node, 0, 1);
  const TensorType y{sum_of(node.in(0))};
  check(!node.has_input(2) || node.input_types[2] == y, "[expert_sum] residual is {} {}, y is {}",
        name_of(node.input_types[2].dtype), node.in(2).to_string(), y.shape.to_string());
  return {y};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::move);
}

void record(Recorder& recorder, const Node& node) {
  const int64_t rows = node.out(0).rows(), columns = node.out(0).columns();
  const uint64_t x = recorder.address(node.inputs[0]), y = recorder.address(node.outputs[0]);
  const auto optional = [&](size_t i) { return node.has_input(i) ? recorder.address(node.inputs[i]) : x; };
  check_rows("expert_sum", node.in(0).rows(), columns);
  const Rows shared = share_rows(recorder.device(), rows, columns);
  recorder.dispatch(row_launch(recorder, "expert_sum", RowUse::move, shared, columns, {x, optional(2), y},
                               {node.has_input(1), node.has_input(2)}),
                    ExpertSumArgs{.x = x,
                                  .weights = optional(1),
                                  .residual = optional(2),
                                  .y = y,
                                  .rows = shared,
                                  .slots = static_cast<uint>(node.in(0)[-2])});
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  Values gradients(node.inputs.size());
  if (!upstream[0]) return gradients;
  const Values inputs = node.inputs;
  const double slots = static_cast<double>(node.in(0)[-2]);
  const Values parts = inputs[1] ? graph.add(expert_sum_backward_op, {upstream[0], inputs[0], inputs[1]})
                                 : graph.add(expert_sum_backward_op, {upstream[0], {}, {}}, {{"slots", slots}});
  gradients[0] = parts[0];
  if (inputs[1]) gradients[1] = parts[1];
  if (gradients.size() > 2 && inputs[2]) gradients[2] = upstream[0];
  return gradients;
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t slots = node.in(0)[-2], columns = node.in(0).columns();
  for (int64_t i = 0; i < node.out(0).elements(); ++i) {
    const int64_t row = i / columns, column = i % columns;
    double sum = in[2] ? (*in[2])[i] : 0;
    for (int64_t slot = row * slots; slot < (row + 1) * slots; ++slot)
      sum += (in[1] ? (*in[1])[slot] : 1) * (*in[0])[slot * columns + column];
    out[0][i] = sum;
  }
}

const Shape case_shapes[] = {{1, 1}, {3, 5, 7}, {257, 2, 7}, {2, 2, 8, 64}, {67, 1, 130}, {3, 2, 1031}};

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const Shape& x, bool weighted, bool residual) {
    list.push_back({.inputs = {{.type = {x}},
                               {.type = {slots_of(x)}, .absent = !weighted},
                               {.type = {sum_of(x)}, .absent = !residual}},
                    .attributes = {},
                    .reduction = x[-2]});
  };
  for (const Shape& x : case_shapes) add(x, true, true);
  add({3, 5, 7}, false, false);
  add({13, 8, 64}, false, true);
  add({13, 8, 130}, true, false);
  return list;
}

Cost cost(const Node& node) {
  const auto x = static_cast<double>(node.in(0).elements()), y = static_cast<double>(node.out(0).elements());
  return {.bytes = 4 * (x + (node.has_input(2) ? 2 : 1) * y), .flops = 2 * x};
}

// --- expert_sum_backward: upstream, x?, weights? -> dx, dweights? ---

/// The shape of x: that of input 1, or without weights upstream's with so many slots.
Shape shape_of_x(const Node& node) {
  if (node.has_input(1)) return node.in(1);
  const Shape& upstream = node.in(0);
  std::vector<int64_t> dimensions(upstream.dimensions().begin(), upstream.dimensions().end());
  dimensions.insert(dimensions.end() - 1, node.integer("slots"));
  return Shape(dimensions);
}

Types infer_backward(const Node& node) {
  check(node.has_input(1) == node.has_input(2), "[expert_sum_backward] takes x and weights, or neither");
  check(node.in(0).rank() >= 1 && node.input_types[0].dtype == DType::f32,
        "[expert_sum_backward] upstream is {}, needs f32 [.., C]", node.in(0).to_string());
  const Shape x = shape_of_x(node);
  if (!node.has_input(1)) return {{x}};
  check_inputs(node, 1, 2);
  check(node.in(0) == sum_of(x), "[expert_sum_backward] upstream is {}, x is {}", node.in(0).to_string(),
        x.to_string());
  return {{x}, {slots_of(x)}};
}

std::vector<std::string_view> candidates_backward(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::stream);
}

void record_backward(Recorder& recorder, const Node& node) {
  const Shape x_shape = shape_of_x(node);
  const int64_t rows = x_shape.rows(), columns = x_shape.columns();
  const uint64_t upstream = recorder.address(node.inputs[0]), dx = recorder.address(node.outputs[0]);
  const bool weighted = node.has_input(1);
  const uint64_t x = weighted ? recorder.address(node.inputs[1]) : upstream;
  const uint64_t dweights = weighted ? recorder.address(node.outputs[1]) : 0;
  const Rows shared = share_rows(recorder.device(), rows, columns);
  recorder.dispatch(
      row_launch(recorder, "expert_sum_backward", RowUse::stream, shared, columns, {upstream, x, dx}, {weighted}),
      ExpertSumBackwardArgs{.upstream = upstream,
                            .x = x,
                            .weights = weighted ? recorder.address(node.inputs[2]) : upstream,
                            .dx = dx,
                            .dweights = dweights,
                            .rows = shared,
                            .slots = static_cast<uint>(x_shape[-2]),
                            .outputs = (dx ? 1u : 0u) | (dweights ? 2u : 0u)});
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const Shape x = shape_of_x(node);
  const int64_t slots = x[-2], columns = x.columns();
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t slot = i / columns;
    const double upstream = (*in[0])[slot / slots * columns + i % columns];
    out[0][i] = (in[2] ? (*in[2])[slot] : 1) * upstream;
    if (in[1]) out[1][slot] += upstream * (*in[1])[i];
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  for (const Shape& x : case_shapes)
    list.push_back({.inputs = {{.type = {sum_of(x)}}, {.type = {x}}, {.type = {slots_of(x)}}},
                    .attributes = {},
                    .reduction = x.columns()});
  list.push_back({.inputs = {{.type = {{13, 64}}}, {.type = {{13, 8, 64}}, .absent = true}, {.absent = true}},
                  .attributes = {{"slots", 8}}});
  return list;
}

Cost cost_backward(const Node& node) {
  const auto x = static_cast<double>(shape_of_x(node).elements()), y = static_cast<double>(node.in(0).elements());
  return {.bytes = 4 * ((node.has_input(1) ? 2 : 1) * x + y), .flops = (node.has_input(1) ? 3 : 1) * x};
}

const Op expert_sum_op = {.name = "expert_sum",
                          .infer = infer,
                          .record = record,
                          .gradient = gradient,
                          .reference = reference,
                          .cases = cases,
                          .cost = cost,
                          .candidates = candidates,
                          .room = row_room,
                          .addend = 2};

const Op expert_sum_backward_op = {.name = "expert_sum_backward",
                                   .infer = infer_backward,
                                   .record = record_backward,
                                   .reference = reference_backward,
                                   .cases = cases_backward,
                                   .cost = cost_backward,
                                   .candidates = candidates_backward,
                                   .room = row_room};

}  // namespace

Value expert_sum(Graph& graph, Value x, Value weights, Value residual) {
  return graph.apply(expert_sum_op, {x, weights, residual});
}

bool is_expert_sum(const Node& node) { return node.op == &expert_sum_op; }

}  // namespace vkformer

VKFORMER_OPS(expert_sum, &vkformer::expert_sum_op, &vkformer::expert_sum_backward_op)
