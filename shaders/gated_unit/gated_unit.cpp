#include "shaders/gated_unit/gated_unit.h"

#include <cmath>
#include <numbers>

#include "shaders/common/stream.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/gated_unit/gated_unit.args.h"

namespace vkformer {
namespace {

extern const Op gated_unit_backward_op;

// --- the gates: one row each ---

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double tanh_of(double x) { return std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)); }

double gelu_tanh_derivative(double x) {
  const double t = tanh_of(x), slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
  return (1 + t) / 2 + x * (1 - t * t) / 2 * slope;
}

struct GateRow {
  Gate gate;
  uint32_t number;               // specialization constant
  double flops, backward_flops;  // an element; exp counts as one
  double (*value)(double x);
  double (*derivative)(double x);
};

constexpr uint32_t number_of(Activation activation) { return static_cast<uint32_t>(activation); }

const GateRow gates[] = {
    {Gate::silu, number_of(Activation::silu), 6, 12, [](double x) { return x * sigmoid(x); },
     [](double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }},
    {Gate::gelu, number_of(Activation::gelu), 26, 34, [](double x) { return x * normal_cdf(x); },
     [](double x) { return normal_cdf(x) + x * normal_density(x); }},
    {Gate::gelu_tanh, number_of(Activation::gelu_tanh), 10, 21, [](double x) { return x * (1 + tanh_of(x)) / 2; },
     gelu_tanh_derivative},
    {Gate::relu, number_of(Activation::relu), 2, 4, [](double x) { return x < 0 ? 0 : x; },
     [](double x) { return x <= 0 ? 0.0 : 1.0; }},
};

const GateRow& gate_of(const Node& node) {
  for (const GateRow& row : gates)
    if (static_cast<int64_t>(row.gate) == node.integer("act")) return row;
  fail("[{}] there is no gate {}", node.op->name, node.integer("act"));
}

Attributes attributes_of(Gate act) { return {{"act", static_cast<double>(act)}}; }

// Less than a quad, no whole quad too many, odd tails, several workgroups on every device.
const Shape case_shapes[] = {{1}, {3}, {2, 4}, {7, 149}, {3, 5, 11}, {4099}, {3, 4271}};

// --- gated_unit: gate, up -> y ---

Types infer(const Node& node) {
  check(node.inputs.size() == 2 && node.has_input(0) && node.has_input(1), "[gated_unit] takes gate and up");
  for (const TensorType& type : node.input_types)
    check(type.dtype == DType::f32, "[gated_unit] takes f32, got {}", name_of(type.dtype));
  check(node.in(0) == node.in(1), "[gated_unit] gate is {}, up {}", node.in(0).to_string(), node.in(1).to_string());
  gate_of(node);
  return {node.input_types[0]};
}

void record(Recorder& r, const Node& node) {
  const GatedUnitArgs args{.gate = r.address(node.inputs[0]),
                           .up = r.address(node.inputs[1]),
                           .y = r.address(node.outputs[0]),
                           .stream = stream_over(r.device(), node.out(0).elements())};
  r.dispatch(stream_launch(r, "gated_unit", args.stream, {gate_of(node).number}), args);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}, {}};
  return graph.add(gated_unit_backward_op, {upstream[0], node.inputs[0], node.inputs[1]}, node.attributes);
}

void reference(const Node& node, Inputs in, Outputs out) {
  const GateRow& gate = gate_of(node);
  for (int64_t i = 0; i < node.out(0).elements(); ++i) out[0][i] = gate.value((*in[0])[i]) * (*in[1])[i];
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const GateRow& row, const Shape& shape, double low, double high) {
    list.push_back({.inputs = {{{shape}, low, high}, {{shape}}}, .attributes = attributes_of(row.gate)});
  };
  for (const GateRow& row : gates) {
    // relu: away from its kink, on both sides of it.
    const bool kink = row.gate == Gate::relu;
    for (const Shape& shape : case_shapes) add(row, shape, kink ? 0.01 : -4, 4);
    if (kink) add(row, {13, 17}, -2, -0.01);
    // The tails, where a careless formula overflows.
    if (!kink) add(row, {13, 17}, -20, 20);
    if (!kink) add(row, {13, 17}, -1e4, 1e4);
  }
  return list;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  return {.bytes = 12 * elements, .flops = gate_of(node).flops * elements};
}

// --- gated_unit_backward: upstream, gate, up -> dgate, dup ---

Types infer_backward(const Node& node) {
  check(node.inputs.size() == 3 && node.has_input(0) && node.has_input(1) && node.has_input(2),
        "[gated_unit_backward] takes upstream, gate and up");
  for (const TensorType& type : node.input_types)
    check(type.dtype == DType::f32, "[gated_unit_backward] takes f32, got {}", name_of(type.dtype));
  check(node.in(0) == node.in(1) && node.in(1) == node.in(2), "[gated_unit_backward] upstream is {}, gate {}, up {}",
        node.in(0).to_string(), node.in(1).to_string(), node.in(2).to_string());
  gate_of(node);
  return {node.input_types[1], node.input_types[2]};
}

void record_backward(Recorder& r, const Node& node) {
  const GatedUnitBackwardArgs args{.upstream = r.address(node.inputs[0]),
                                   .gate = r.address(node.inputs[1]),
                                   .up = r.address(node.inputs[2]),
                                   .dgate = r.address(node.outputs[0]),
                                   .dup = r.address(node.outputs[1]),
                                   .stream = stream_over(r.device(), node.out(0).elements())};
  r.dispatch(stream_launch(r, "gated_unit_backward", args.stream, {gate_of(node).number, args.dup != 0}), args);
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const GateRow& gate = gate_of(node);
  const HostTensor &upstream = *in[0], &x = *in[1], &up = *in[2];
  for (int64_t i = 0; i < node.out(0).elements(); ++i) {
    out[0][i] = upstream[i] * up[i] * gate.derivative(x[i]);
    out[1][i] = upstream[i] * gate.value(x[i]);
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  const auto add = [&](const GateRow& row, const Shape& shape, double limit) {
    list.push_back({.inputs = {{{shape}}, {{shape}, -limit, limit}, {{shape}}}, .attributes = attributes_of(row.gate)});
  };
  for (const GateRow& row : gates) {
    for (const Shape& shape : case_shapes) add(row, shape, 4);
    for (const double limit : {20.0, 1e4}) add(row, {13, 17}, limit);
  }
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  return {.bytes = 20 * elements, .flops = gate_of(node).backward_flops * elements};
}

const Op gated_unit_op = {.name = "gated_unit",
                          .infer = infer,
                          .record = record,
                          .gradient = gradient,
                          .reference = reference,
                          .cases = cases,
                          .cost = cost,
                          .candidates = stream_candidates,
                          .in_place = true};

const Op gated_unit_backward_op = {.name = "gated_unit_backward",
                                   .infer = infer_backward,
                                   .record = record_backward,
                                   .reference = reference_backward,
                                   .cases = cases_backward,
                                   .cost = cost_backward,
                                   .candidates = stream_candidates,
                                   .in_place = true};

}  // namespace

Value gated_unit(Graph& graph, Gate act, Value gate, Value up) {
  return graph.apply(gated_unit_op, {gate, up}, attributes_of(act));
}

}  // namespace vkformer

VKFORMER_OPS(gated_unit, &vkformer::gated_unit_op, &vkformer::gated_unit_backward_op)
