#include "shaders/gated_unit/gated_unit.h"

#include <algorithm>
#include <cmath>

#include "shaders/cast/cast.h"
#include "shaders/common/activation_reference.h"
#include "shaders/common/result_type.h"
#include "shaders/common/rows.h"
#include "shaders/gated_unit/gated_unit.args.h"

namespace vkformer {
namespace {

extern const Op gated_unit_backward_op;

// --- the gates: one row each ---

struct GateRow {
  Gate gate;
  double flops, backward_flops;  // an element; exp counts as one
  double (*value)(double x);
  double (*derivative)(double x);
  /// Of up, what it is multiplied with, and the derivative of that.
  double (*let_through)(double up) = [](double up) { return up; };
  double (*let_through_derivative)(double up) = [](double) { return 1.0; };
};

constexpr double gate_limit = 7;  // of Gate::clamped
double clamped_gate(double x) { return std::min(x, gate_limit) * sigmoid(1.702 * std::min(x, gate_limit)); }
double clamped_gate_derivative(double x) {
  return x > gate_limit ? 0 : sigmoid(1.702 * x) + 1.702 * x * sigmoid_derivative(1.702 * x);
}
double clamped_up(double up) { return std::clamp(up, -gate_limit, gate_limit) + 1; }
double clamped_up_derivative(double up) { return std::abs(up) > gate_limit ? 0 : 1; }

const GateRow gates[] = {
    {Gate::silu, 6, 12, silu, silu_derivative},
    {Gate::gelu, 26, 34, gelu, gelu_derivative},
    {Gate::gelu_tanh, 10, 21, gelu_tanh, gelu_tanh_derivative},
    {Gate::relu, 2, 4, [](double x) { return x < 0 ? 0 : x; }, [](double x) { return x <= 0 ? 0.0 : 1.0; }},
    {Gate::clamped, 10, 18, clamped_gate, clamped_gate_derivative, clamped_up, clamped_up_derivative},
    {Gate::sigmoid, 5, 8, sigmoid, sigmoid_derivative},
};

/// The shader's constant for it.
uint32_t number_of(Gate gate) { return static_cast<uint32_t>(gate); }

const GateRow& row_of(int64_t number) {
  for (const GateRow& row : gates)
    if (static_cast<int64_t>(row.gate) == number) return row;
  fail("[gated_unit] there is no gate {}", number);
}

const GateRow& gate_of(const Node& node) { return row_of(node.integer("act")); }

Attributes attributes_of(Gate act) { return {{"act", static_cast<double>(act)}}; }

/// Inputs `gate` and `gate` + 1 of a node: gate and up, or the gate alone, which then holds both side by side.
struct Gated {
  bool joint;
  size_t up;              ///< the input that holds up
  int64_t rows, columns;  ///< of each
  int64_t stride;         ///< from row to row of both
  DType dtype;            ///< of all inputs and outputs

  Gated(const Node& node, size_t gate)
      : joint(!node.has_input(gate + 1)),
        up(joint ? gate : gate + 1),
        rows(node.in(gate).rows()),
        columns(node.in(gate).columns() / (joint ? 2 : 1)),
        stride(node.in(gate).columns()),
        dtype(node.input_types[gate].dtype) {}

  /// From a row's gate to its up in one tensor.
  int64_t distance() const { return joint ? columns : 0; }
  /// The same in bytes.
  uint64_t offset() const { return static_cast<uint64_t>(distance() * size_of(dtype)); }
  /// Where element k of the gate is in the tensor that holds it.
  int64_t at(int64_t k) const { return k / columns * stride + k % columns; }

  Launch launch(const Recorder& r, std::string_view kernel, const Rows& shared,
                std::initializer_list<uint64_t> matrices, std::initializer_list<uint32_t> constants) const {
    check_rows(kernel, rows, stride);
    return row_launch(r, kernel, RowUse::move, shared, columns, matrices, constants);
  }
};

void check_types(const Node& node, size_t gate) {
  for (size_t i = 0; i < node.inputs.size(); ++i)
    check(!node.has_input(i) ||
              (node.input_types[i].dtype != DType::i32 && node.input_types[i].dtype == node.input_types[0].dtype),
          "[{}] takes floats of one type, got {}", node.op->name, name_of(node.input_types[i].dtype));
  const Shape& x = node.in(gate);
  check(x.rank() >= 1, "[{}] gate is {}, needs [.., C]", node.op->name, x.to_string());
  if (node.has_input(gate + 1))
    check(x == node.in(gate + 1), "[{}] gate is {}, up {}", node.op->name, x.to_string(),
          node.in(gate + 1).to_string());
  else
    check(x.columns() % 2 == 0, "[{}] {} doesn't hold gate and up side by side", node.op->name, x.to_string());
  gate_of(node);
}

// Narrow and wide, odd and even rows, several workgroups. How rows are walked is proved with one gate, how gates are
// computed with one width.
const Shape case_shapes[] = {{1}, {3, 5, 7}, {1031, 7}, {13, 64}, {131, 130}, {3, 1031}};
constexpr Gate walking_gate = Gate::silu;
const Shape gate_shape{13, 7};

std::vector<Shape> shapes_for(Gate gate) {
  if (gate != walking_gate) return {gate_shape};
  return {std::begin(case_shapes), std::end(case_shapes)};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, std::min(node.in(0).columns(), node.out(0).columns()), RowUse::move,
                        node.output_types[0].dtype);
}

/// Inputs gate and up of a case, gate drawn from [low, high]; up, where it is apart, too, if that matters.
void add_inputs(Case& next, const GateRow& row, const Shape& shape, double low, double high, bool joint, DType dtype) {
  next.inputs.push_back({{joint ? shape.with_columns(2 * shape.columns()) : shape, dtype}, low, high});
  next.inputs.push_back({.type = {shape, dtype}, .absent = joint});
  if (row.gate == Gate::clamped) next.inputs.back().low = low, next.inputs.back().high = high;
}

const Shape half_shape{13, 64};

// --- gated_unit: gate, up -> y ---

Types infer(const Node& node) {
  check(node.inputs.size() == 2 && node.has_input(0), "[gated_unit] takes gate and up");
  check_types(node, 0);
  const DType type = node.input_types[0].dtype;  // halves stay what they are
  const TensorType y{node.in(0).with_columns(Gated(node, 0).columns), type == DType::f32 ? result_type(node) : type};
  check_whole_words(node, "y", y);
  return {y};
}

void record(Recorder& r, const Node& node) {
  const Gated gated(node, 0);
  const GatedUnitArgs args{.gate = r.address(node.inputs[0]),
                           .up = r.address(node.inputs[gated.up]) + gated.offset(),
                           .y = r.address(node.outputs[0]),
                           .rows = share_rows(r.device(), gated.rows, gated.columns),
                           .stride = static_cast<uint>(gated.stride),
                           .most = most_of_result(node)};
  Launch launch =
      gated.launch(r, "gated_unit", args.rows, {args.gate, args.up, args.y}, {number_of(gate_of(node).gate)});
  if (const DType result = node.output_types[0].dtype; result != gated.dtype)
    launch.variant = result == DType::f16 ? "workgroup_f16_of_floats" : "workgroup_bf16_of_floats";
  r.dispatch(launch, args);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}, {}};
  // Read before a cast is added: the node may move while the graph grows.
  const Values inputs = node.inputs;
  const Attributes act{{"act", node.number("act")}};
  const Value of_inputs = is_half(node.input_types[0].dtype) ? upstream[0] : cast(graph, upstream[0], DType::f32);
  Values gradients = graph.add(gated_unit_backward_op, {of_inputs, inputs[0], inputs[1]}, act);
  gradients.resize(2);
  return gradients;
}

void reference(const Node& node, Inputs in, Outputs out) {
  const GateRow& gate = gate_of(node);
  const Gated gated(node, 0);
  const HostTensor &x = *in[0], &up = *in[gated.up];
  for (int64_t k = 0; k < node.out(0).elements(); ++k)
    out[0][k] = saturated(gate.value(x[gated.at(k)]) * gate.let_through(up[gated.at(k) + gated.distance()]),
                          most_of_result(node));
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const GateRow& row, const Shape& shape, double low, double high, DType dtype = DType::f32) {
    for (const bool joint : {false, true}) {
      Case next{.inputs = {}, .attributes = attributes_of(row.gate)};
      add_inputs(next, row, shape, low, high, joint, dtype);
      list.push_back(next);
    }
  };
  for (const GateRow& row : gates) {
    // relu: away from its kink, on both sides of it.
    const bool kink = row.gate == Gate::relu;
    for (const Shape& shape : shapes_for(row.gate)) add(row, shape, kink ? 0.01 : -4, 4);
    if (kink) add(row, gate_shape, -2, -0.01);
    // The tails, where a careless formula overflows.
    if (!kink) add(row, gate_shape, -20, 20);
    if (!kink) add(row, gate_shape, -1e4, 1e4);
  }
  for (const DType half : {DType::f16, DType::bf16}) {
    add(gates[0], half_shape, -4, 4, half);
    // Rounded as they are written: many are beyond what an f16 holds, where finite differences say nothing.
    const bool beyond = half == DType::f16;
    add(gates[0], half_shape, beyond ? -1e3 : -4, beyond ? 1e3 : 4);
    for (Case& rounded : std::span(list).last(2)) {
      set_saturated_result(rounded.attributes, half);
      for (CaseInput& input : rounded.inputs) input.constant = beyond;
    }
  }
  return list;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.out(0).elements());
  const auto read = static_cast<double>(2 * size_of(node.input_types[0].dtype)) * elements;
  return {.bytes = read + static_cast<double>(node.output_types[0].bytes()), .flops = gate_of(node).flops * elements};
}

// --- gated_unit_backward: upstream, gate, up -> dgate, dup ---

Types infer_backward(const Node& node) {
  check(node.inputs.size() == 3 && node.has_input(0) && node.has_input(1),
        "[gated_unit_backward] takes upstream, gate and up");
  check_types(node, 1);
  const Gated gated(node, 1);
  check(node.in(0) == node.in(1).with_columns(gated.columns), "[gated_unit_backward] upstream is {}, gate {}",
        node.in(0).to_string(), node.in(1).to_string());
  check_whole_words(node, "upstream", node.input_types[0]);
  return Types(gated.joint ? 1 : 2, node.input_types[1]);
}

void record_backward(Recorder& r, const Node& node) {
  const Gated gated(node, 1);
  const GatedUnitBackwardArgs args{.upstream = r.address(node.inputs[0]),
                                   .gate = r.address(node.inputs[1]),
                                   .up = r.address(node.inputs[gated.up]) + gated.offset(),
                                   .dgate = r.address(node.outputs[0]),
                                   .dup = r.address(node.outputs[gated.up - 1]) + gated.offset(),
                                   .rows = share_rows(r.device(), gated.rows, gated.columns),
                                   .stride = static_cast<uint>(gated.stride)};
  r.dispatch(
      gated.launch(r, "gated_unit_backward", args.rows, {args.upstream, args.gate, args.up, args.dgate, args.dup},
                   {number_of(gate_of(node).gate), args.dup != 0}),
      args);
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const GateRow& gate = gate_of(node);
  const Gated gated(node, 1);
  const HostTensor &upstream = *in[0], &x = *in[1], &up = *in[gated.up];
  for (int64_t k = 0; k < node.in(0).elements(); ++k) {
    const int64_t at = gated.at(k), up_at = at + gated.distance();
    out[0][at] = upstream[k] * gate.let_through(up[up_at]) * gate.derivative(x[at]);
    out[gated.up - 1][up_at] = upstream[k] * gate.value(x[at]) * gate.let_through_derivative(up[up_at]);
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  const auto add = [&](const GateRow& row, const Shape& shape, double limit, DType dtype = DType::f32) {
    for (const bool joint : {false, true}) {
      Case next{.inputs = {{{shape, dtype}}}, .attributes = attributes_of(row.gate)};
      add_inputs(next, row, shape, -limit, limit, joint, dtype);
      list.push_back(next);
    }
  };
  for (const GateRow& row : gates) {
    for (const Shape& shape : shapes_for(row.gate)) add(row, shape, 4);
    for (const double limit : {20.0, 1e4}) add(row, gate_shape, limit);
  }
  for (const DType half : {DType::f16, DType::bf16}) add(gates[0], half_shape, 4, half);
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  return {.bytes = 5 * static_cast<double>(node.input_types[0].bytes()),
          .flops = gate_of(node).backward_flops * elements};
}

const Op gated_unit_op = {.name = "gated_unit",
                          .infer = infer,
                          .record = record,
                          .gradient = gradient,
                          .reference = reference,
                          .cases = cases,
                          .cost = cost,
                          .candidates = candidates,
                          .room = row_room,
                          .half_inputs = 0b11,
                          .in_place = true};

const Op gated_unit_backward_op = {.name = "gated_unit_backward",
                                   .infer = infer_backward,
                                   .record = record_backward,
                                   .reference = reference_backward,
                                   .cases = cases_backward,
                                   .cost = cost_backward,
                                   .candidates = candidates,
                                   .room = row_room,
                                   .half_inputs = 0b111,
                                   .in_place = true};

}  // namespace

Value gated_unit(Graph& graph, Gate act, Value gate, Value up) {
  return graph.apply(gated_unit_op, {gate, up}, attributes_of(act));
}

double gated(Gate act, double gate, double up) {
  const GateRow& row = row_of(static_cast<int64_t>(act));
  return row.value(gate) * row.let_through(up);
}

bool is_gated_unit(const Node& node) { return node.op == &gated_unit_op; }

}  // namespace vkformer

VKFORMER_OPS(gated_unit, &vkformer::gated_unit_op, &vkformer::gated_unit_backward_op)
