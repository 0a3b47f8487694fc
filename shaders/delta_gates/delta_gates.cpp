#include "shaders/delta_gates/delta_gates.h"

#include <cmath>

#include "runtime/recorder.h"
#include "shaders/column_sum/column_sum.h"
#include "shaders/delta_gates/delta_gates.args.h"
#include "shaders/slice/slice.h"

namespace vkformer {

namespace {

extern const Op delta_gates_backward_op;

/// Checks `projected`, input `first` of the node, and rate and offset behind it; gives the number of heads.
int64_t checked_heads(const Node& node, size_t first) {
  const std::string_view op = node.op->name;
  const Shape &projected = node.in(first), &rate = node.in(first + 1);
  for (size_t i = first; i < first + 3; ++i)
    check(node.input_types[i].dtype == DType::f32 && (i == first || (node.in(i).rank() == 1 && node.in(i) == rate)),
          "[{}] input {} is {} {}, rate {}; rate and offset are f32 [H]", op, i, name_of(node.input_types[i].dtype),
          node.in(i).to_string(), rate.to_string());
  const int64_t parts = node.flag("steps") ? 1 : 2;
  check(projected.rank() >= 1 && projected.elements() > 0 && rate[0] >= 1 && projected.columns() % parts == 0 &&
            projected.columns() / parts == rate[0],
        "[{}] projected is {}, needs {} of each of {} heads", op, projected.to_string(), parts, rate[0]);
  check(projected.elements() < int64_t{1} << 30, "[{}] projected is {}; kernels address at most 2^31 - 1 elements", op,
        projected.to_string());
  return rate[0];
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

Launch launch_of(const Recorder& recorder, std::string_view kernel, int64_t elements) {
  const DeviceFacts& facts = recorder.device();
  const uint32_t invocations = facts.largest_group(facts.is_cpu() ? 8 : 64);
  return {
      .kernel = kernel, .constants = {invocations}, .groups = spread_groups(facts, groups_for(elements, invocations))};
}

// --- delta_gates: projected (b and a, or a alone), rate, offset -> gates ---

Types infer(const Node& node) { return {{node.in(0).with_columns(2 * checked_heads(node, 0))}}; }

void record(Recorder& recorder, const Node& node) {
  const int64_t elements = node.out(0).elements() / 2;
  recorder.dispatch(launch_of(recorder, "delta_gates", elements),
                    DeltaGatesArgs{.projected = recorder.address(node.inputs[0]),
                                   .rate = recorder.address(node.inputs[1]),
                                   .offset = recorder.address(node.inputs[2]),
                                   .gates = recorder.address(node.outputs[0]),
                                   .elements = static_cast<uint>(elements),
                                   .heads = static_cast<uint>(node.in(1)[0]),
                                   .steps = node.flag("steps")});
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  const Values inputs = node.inputs;
  const int64_t heads = node.in(1)[0];
  const int64_t first = node.flag("steps") ? 0 : heads;
  const Values found =
      graph.add(delta_gates_backward_op, {upstream[0], inputs[0], inputs[1], inputs[2]}, node.attributes);
  return {found[0], column_sum(graph, found[1]), column_sum(graph, slice(graph, found[0], first, heads))};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t heads = node.in(1)[0];
  const bool steps = node.flag("steps");
  for (int64_t row = 0; row < node.in(0).rows(); ++row)
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t b = row * 2 * heads + h, a = b + heads;
      const double step = softplus((*in[0])[steps ? row * heads + h : a] + (*in[2])[h]);
      out[0][b] = steps ? step : sigmoid((*in[0])[b]);
      out[0][a] = -std::exp((*in[1])[h]) * step;
    }
}

const Shape shapes[] = {{2}, {3, 1, 14}, {131, 10}};

std::vector<CaseInput> case_inputs(const Shape& shape, bool steps, double size) {
  const Shape heads{shape.columns() / 2};
  const Shape projected = steps ? shape.with_columns(heads[0]) : shape;
  return {{.type = {projected}, .low = -size, .high = size}, {.type = {heads}}, {.type = {heads}}};
}

Attributes attributes_of(bool steps) { return {{"steps", steps ? 1.0 : 0.0}}; }

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const double size : {3.0, 40.0})
    for (const bool steps : {false, true})
      for (const Shape& shape : shapes)
        list.push_back({.inputs = case_inputs(shape, steps, size), .attributes = attributes_of(steps)});
  return list;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  return {.bytes = 8 * elements, .flops = 6 * elements};
}

// --- delta_gates_backward: upstream, projected, rate, offset -> dprojected, each row's part of drate ---

Types infer_backward(const Node& node) {
  const int64_t heads = checked_heads(node, 1);
  check(node.input_types[0] == TensorType{node.in(1).with_columns(2 * heads)},
        "[delta_gates_backward] upstream is {}, projected {}", node.in(0).to_string(), node.in(1).to_string());
  return {node.input_types[1], {node.in(1).with_columns(heads)}};
}

void record_backward(Recorder& recorder, const Node& node) {
  const int64_t elements = node.in(0).elements() / 2;
  const uint64_t dprojected = recorder.address(node.outputs[0]), drate = recorder.address(node.outputs[1]);
  recorder.dispatch(launch_of(recorder, "delta_gates_backward", elements),
                    DeltaGatesBackwardArgs{.upstream = recorder.address(node.inputs[0]),
                                           .projected = recorder.address(node.inputs[1]),
                                           .rate = recorder.address(node.inputs[2]),
                                           .offset = recorder.address(node.inputs[3]),
                                           .dprojected = dprojected,
                                           .drate = drate,
                                           .elements = static_cast<uint>(elements),
                                           .heads = static_cast<uint>(node.in(2)[0]),
                                           .steps = node.flag("steps"),
                                           .outputs = (dprojected ? 1u : 0u) | (drate ? 2u : 0u)});
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const int64_t heads = node.in(2)[0];
  const bool steps = node.flag("steps");
  for (int64_t row = 0; row < node.in(1).rows(); ++row)
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t b = row * 2 * heads + h, a = b + heads;
      const int64_t from = steps ? row * heads + h : a;
      const double x = (*in[1])[from] + (*in[3])[h], rate = std::exp((*in[2])[h]);
      out[0][from] = (steps ? (*in[0])[b] : 0) * sigmoid(x) - (*in[0])[a] * rate * sigmoid(x);
      out[1][row * heads + h] = -(*in[0])[a] * rate * softplus(x);
      if (steps) continue;
      const double beta = sigmoid((*in[1])[b]);
      out[0][b] = (*in[0])[b] * beta * (1 - beta);
    }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  for (const bool steps : {false, true})
    for (const Shape& shape : shapes) {
      list.push_back({.inputs = case_inputs(shape, steps, 3), .attributes = attributes_of(steps)});
      list.back().inputs.insert(list.back().inputs.begin(), {.type = {shape}});
    }
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  return {.bytes = 14 * elements, .flops = 8 * elements};
}

const Op delta_gates_op = {.name = "delta_gates",
                           .infer = infer,
                           .record = record,
                           .gradient = gradient,
                           .reference = reference,
                           .cases = cases,
                           .cost = cost};

const Op delta_gates_backward_op = {.name = "delta_gates_backward",
                                    .infer = infer_backward,
                                    .record = record_backward,
                                    .reference = reference_backward,
                                    .cases = cases_backward,
                                    .cost = cost_backward};

}  // namespace

Value delta_gates(Graph& graph, Value projected, Value rate, Value offset) {
  return graph.apply(delta_gates_op, {projected, rate, offset}, attributes_of(false));
}

Value step_gates(Graph& graph, Value steps, Value rate, Value offset) {
  return graph.apply(delta_gates_op, {steps, rate, offset}, attributes_of(true));
}

}  // namespace vkformer

VKFORMER_OPS(delta_gates, &vkformer::delta_gates_op, &vkformer::delta_gates_backward_op)
