#include "shaders/elementwise/elementwise.h"

#include <cmath>
#include <iterator>

#include "shaders/common/activation_reference.h"
#include "shaders/common/stream.h"
#include "shaders/elementwise/elementwise.args.h"

namespace vkformer {
namespace {

// One row a function.
struct Function {
  std::string_view name;
  uint32_t number;  // specialization constant
  size_t inputs;
  double flops;  // an element; exp counts as one
  /// x, the second input (0 where there is none), the factor (1 where there is none).
  double (*formula)(double x, double second, double factor);
};

constexpr double quick = 1.702;

constexpr uint32_t backward(Activation activation) { return elementwise_backward + static_cast<uint32_t>(activation); }
constexpr uint32_t forward(Activation activation) { return static_cast<uint32_t>(activation); }

const Function functions[] = {
    {"add", elementwise_add, 2, 1, [](double x, double second, double) { return x + second; }},
    {"scale", elementwise_scale, 1, 1, [](double x, double, double factor) { return factor * x; }},
    {"softcap", elementwise_softcap, 1, 15,
     [](double x, double, double limit) { return limit * std::tanh(x / limit); }},
    {"softcap_backward", elementwise_softcap_backward, 2, 10,
     [](double upstream, double x, double limit) { return upstream / std::cosh(x / limit) / std::cosh(x / limit); }},
    {"multiply", elementwise_multiply, 2, 1, [](double x, double second, double) { return x * second; }},
    {"scale_by", elementwise_scale_by, 1, 1, [](double x, double, double factor) { return factor * x; }},
    {"relu", forward(Activation::relu), 1, 1, [](double x, double, double) { return x < 0 ? 0 : x; }},
    {"gelu", forward(Activation::gelu), 1, 25, [](double x, double, double) { return gelu(x); }},
    {"gelu_tanh", forward(Activation::gelu_tanh), 1, 9, [](double x, double, double) { return gelu_tanh(x); }},
    {"silu", forward(Activation::silu), 1, 5, [](double x, double, double) { return silu(x); }},
    {"tanh", forward(Activation::tanh), 1, 13, [](double x, double, double) { return std::tanh(x); }},
    {"quick_gelu", forward(Activation::quick_gelu), 1, 8,
     [](double x, double, double) { return x * sigmoid(quick * x); }},
    {"relu_backward", backward(Activation::relu), 2, 1,
     [](double upstream, double x, double) { return x <= 0 ? 0 : upstream; }},
    {"gelu_backward", backward(Activation::gelu), 2, 31,
     [](double upstream, double x, double) { return upstream * gelu_derivative(x); }},
    {"gelu_tanh_backward", backward(Activation::gelu_tanh), 2, 18,
     [](double upstream, double x, double) { return upstream * gelu_tanh_derivative(x); }},
    {"silu_backward", backward(Activation::silu), 2, 11,
     [](double upstream, double x, double) { return upstream * silu_derivative(x); }},
    {"tanh_backward", backward(Activation::tanh), 2, 8,
     [](double upstream, double x, double) { return upstream / std::cosh(x) / std::cosh(x); }},
    {"quick_gelu_backward", backward(Activation::quick_gelu), 2, 15,
     [](double upstream, double x, double) {
       return upstream * (sigmoid(quick * x) + quick * x * sigmoid_derivative(quick * x));
     }},
};

const Function& function_of(const Op& op) {
  for (const Function& function : functions)
    if (function.name == op.name) return function;
  fail("[{}] is no elementwise function", op.name);
}

bool has_factor(const Function& function) {
  return function.number >= elementwise_scale && function.number <= elementwise_softcap_backward;
}

double factor_of(const Node& node) { return has_factor(function_of(*node.op)) ? node.number("factor") : 1; }

bool scales_by_tensor(const Node& node) { return function_of(*node.op).number == elementwise_scale_by; }

Types infer(const Node& node) {
  const Function& function = function_of(*node.op);
  if (scales_by_tensor(node)) {
    check(node.inputs.size() == 2 && node.input_types[0].dtype != DType::i32 &&
              node.input_types[1] == TensorType{Shape{1}},
          "[scale_by] takes floats and a factor, f32 [1]; got {} {}", name_of(node.input_types.back().dtype),
          node.in(node.inputs.size() - 1).to_string());
    return {node.input_types[0]};
  }
  check(node.inputs.size() == function.inputs && node.has_input(0) && node.has_input(function.inputs - 1),
        "[{}] takes {} inputs, got {}", function.name, function.inputs, node.inputs.size());
  for (const TensorType& type : node.input_types)
    check(type.dtype != DType::i32 && type.dtype == node.input_types[0].dtype, "[{}] takes floats of one type, got {}",
          function.name, name_of(type.dtype));
  if (function.number == elementwise_add || function.number == elementwise_multiply)
    check(node.in(0) == node.in(1), "[{}] shapes {} and {} differ", function.name, node.in(0).to_string(),
          node.in(1).to_string());
  else if (function.inputs == 2)
    check(node.in(0).elements() == node.in(1).elements(), "[{}] upstream {} and pre-activation {} differ in size",
          function.name, node.in(0).to_string(), node.in(1).to_string());
  return {node.input_types[0]};
}

void record(Recorder& r, const Node& node) {
  const Function& function = function_of(*node.op);
  const Stream stream = stream_over(r.device(), node.out(0).elements());
  const ElementwiseArgs args{.x = r.address(node.inputs[0]),
                             .second = function.inputs == 2 ? r.address(node.inputs[1]) : 0,
                             .y = r.address(node.outputs[0]),
                             .number = scales_by_tensor(node) ? r.address(node.inputs[1]) : 0,
                             .stream = stream,
                             .factor = static_cast<float>(factor_of(node))};
  r.dispatch(stream_launch(r, "elementwise", stream, {function.number}), args);
}

void reference(const Node& node, Inputs inputs, Outputs outputs) {
  const Function& function = function_of(*node.op);
  const double factor = scales_by_tensor(node) ? (*inputs[1])[0] : factor_of(node);
  for (int64_t i = 0; i < node.out(0).elements(); ++i) {
    const double second = function.inputs == 2 ? (*inputs[1])[i] : 0;
    outputs[0][i] = function.formula((*inputs[0])[i], second, factor);
  }
}

Cost cost(const Node& node) {
  const Function& function = function_of(*node.op);
  const auto elements = static_cast<double>(node.out(0).elements());
  const auto tensor = static_cast<double>(node.output_types[0].bytes());
  return {.bytes = tensor * static_cast<double>(function.inputs + 1), .flops = function.flops * elements};
}

// Less than a quad, no whole quad too many, odd tails, several workgroups on every device.
const Shape case_shapes[] = {{1}, {3}, {2, 4}, {7, 149}, {3, 5, 11}, {4099}, {3, 4271}};

Case case_of(std::vector<CaseInput> inputs, Attributes attributes = {}) {
  return {.inputs = std::move(inputs), .attributes = std::move(attributes)};
}

std::vector<Case> cases_between(double low, double high, size_t inputs = 1, const Attributes& attributes = {}) {
  std::vector<Case> cases;
  for (const Shape& shape : case_shapes)
    cases.push_back(case_of(std::vector<CaseInput>(inputs, {{shape}, low, high}), attributes));
  return cases;
}

// How 16-bit floats are read and written is the same for all functions: a tail of each length, in both types.
std::vector<Case> with_halves(std::vector<Case> cases, std::initializer_list<DType> types = {DType::f16, DType::bf16}) {
  const size_t inputs = cases.front().inputs.size();
  for (const DType type : types)
    for (const Shape& shape : {Shape{1}, Shape{2, 5}, Shape{7, 149}, Shape{4096}})
      cases.push_back(case_of(std::vector<CaseInput>(inputs, {{shape, type}, -2, 2}), cases.front().attributes));
  return cases;
}

std::vector<Case> add_cases() { return with_halves(cases_between(-2, 2, 2)); }
std::vector<Case> multiply_cases() { return cases_between(-2, 2, 2); }
std::vector<Case> scale_by_cases() {
  const CaseInput factor{.type = {Shape{1}}, .low = -0.5, .high = -0.3, .constant = true};
  std::vector<Case> list;
  for (const DType type : {DType::f32, DType::f16, DType::bf16})
    list.push_back(case_of({{{{7, 149}, type}, -2, 2}, factor}));
  return list;
}
std::vector<Case> scale_cases() { return cases_between(-2, 2, 1, {{"factor", -0.37}}); }

// Few sizes: how arrays are walked is proved by the others. Far below and beyond the limit, both ways.
std::vector<Case> softcap_cases_of(const std::vector<CaseInput>& inputs) {
  std::vector<Case> cases;
  for (const double limit : {5.0, 0.25, 1e4, 1e-3}) cases.push_back(case_of(inputs, {{"factor", limit}}));
  return cases;
}

std::vector<Case> softcap_cases() { return softcap_cases_of({{{{13, 17}}, -10, 10}}); }
std::vector<Case> softcap_backward_cases() { return softcap_cases_of({{{{13, 17}}, -1, 1}, {{{13, 17}}, -10, 10}}); }

// Away from the kink at 0, on both sides of it.
std::vector<Case> relu_cases() {
  std::vector<Case> cases = cases_between(0.01, 2);
  cases.push_back(case_of({{{{13, 17}}, -2, -0.01}}));
  return cases;
}

// The wide ranges reach the tails, where a careless formula overflows.
std::vector<Case> smooth_cases() {
  std::vector<Case> cases = cases_between(-4, 4);
  for (const double limit : {20.0, 1e4}) cases.push_back(case_of({{{{13, 17}}, -limit, limit}}));
  return cases;
}

std::vector<Case> backward_cases() {
  std::vector<Case> cases = cases_between(-4, 4, 2);
  for (const double limit : {20.0, 1e4, 3e38})
    cases.push_back(case_of({{{{13, 17}}, -1, 1}, {{{13, 17}}, -limit, limit}}));
  return cases;
}

std::vector<Case> smooth_half_cases() { return with_halves(smooth_cases(), {DType::bf16}); }
std::vector<Case> backward_half_cases() { return with_halves(backward_cases(), {DType::f16}); }

Values add_gradient(Graph&, const Node&, std::span<const Value> upstream) { return {upstream[0], upstream[0]}; }

Values scale_gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}};
  return {scale(graph, upstream[0], node.number("factor"))};
}

Values scale_by_gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}, {}};
  return {scale_by(graph, upstream[0], node.inputs[1]), {}};
}

Values softcap_gradient(Graph& graph, const Node& node, std::span<const Value> upstream);

Values multiply_gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  const Values factors = node.inputs;  // adding nodes moves the graph's
  if (!upstream[0]) return {{}, {}};
  return {multiply(graph, upstream[0], factors[1]), multiply(graph, upstream[0], factors[0])};
}

template <Activation activation>
Values activation_gradient_rule(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}};
  return {activation_gradient(graph, activation, node.inputs[0], upstream[0])};
}

using Gradient = decltype(Op::gradient);
using Cases = decltype(Op::cases);

Op elementwise_op(std::string_view name, Gradient gradient, Cases cases) {
  return {.name = name,
          .infer = infer,
          .record = record,
          .gradient = gradient,
          .reference = reference,
          .cases = cases,
          .cost = cost,
          .candidates = typed_stream_candidates,
          .room = stream_room,
          .half_inputs = 0b11,
          .in_place = true};
}

const Op scale_by_op = [] {
  Op op = elementwise_op("scale_by", scale_by_gradient, scale_by_cases);
  op.half_inputs = 0b1;
  return op;
}();

const Op add_op = elementwise_op("add", add_gradient, add_cases);
const Op scale_op = elementwise_op("scale", scale_gradient, scale_cases);
const Op softcap_op = elementwise_op("softcap", softcap_gradient, softcap_cases);
const Op softcap_backward_op = elementwise_op("softcap_backward", nullptr, softcap_backward_cases);

// The upstream comes first because that is what the result may overwrite.
Values softcap_gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}};
  return {graph.apply(softcap_backward_op, {upstream[0], node.inputs[0]}, node.attributes)};
}
const Op multiply_op = elementwise_op("multiply", multiply_gradient, multiply_cases);

Op forward_op(std::string_view name, Gradient gradient) { return elementwise_op(name, gradient, smooth_cases); }
Op backward_op(std::string_view name) { return elementwise_op(name, nullptr, backward_cases); }

const Op relu_op = elementwise_op("relu", activation_gradient_rule<Activation::relu>, relu_cases);
const Op gelu_op = forward_op("gelu", activation_gradient_rule<Activation::gelu>);
const Op gelu_tanh_op = elementwise_op("gelu_tanh", activation_gradient_rule<Activation::gelu_tanh>, smooth_half_cases);
const Op silu_op = forward_op("silu", activation_gradient_rule<Activation::silu>);
const Op tanh_op = forward_op("tanh", activation_gradient_rule<Activation::tanh>);
const Op quick_gelu_op = forward_op("quick_gelu", activation_gradient_rule<Activation::quick_gelu>);
const Op relu_backward_op = backward_op("relu_backward");
const Op gelu_backward_op = backward_op("gelu_backward");
const Op gelu_tanh_backward_op = elementwise_op("gelu_tanh_backward", nullptr, backward_half_cases);
const Op silu_backward_op = backward_op("silu_backward");
const Op tanh_backward_op = backward_op("tanh_backward");
const Op quick_gelu_backward_op = backward_op("quick_gelu_backward");

// By activation; nothing is done for Activation::none.
struct ActivationOps {
  const Op* forward = nullptr;
  const Op* backward = nullptr;
};
const ActivationOps activation_ops[] = {{},
                                        {&relu_op, &relu_backward_op},
                                        {&gelu_op, &gelu_backward_op},
                                        {&gelu_tanh_op, &gelu_tanh_backward_op},
                                        {&silu_op, &silu_backward_op},
                                        {&tanh_op, &tanh_backward_op},
                                        {&quick_gelu_op, &quick_gelu_backward_op}};

const ActivationOps& ops_of(Activation activation) {
  const auto index = static_cast<size_t>(activation);
  check(index < std::size(activation_ops), "[activate] there is no activation {}", index);
  return activation_ops[index];
}

}  // namespace

Value activate(Graph& graph, Activation activation, Value x) {
  const Op* op = ops_of(activation).forward;
  return op ? graph.apply(*op, {x}) : x;
}

double activated(Activation activation, double x) {
  const Op* op = ops_of(activation).forward;
  return op ? function_of(*op).formula(x, 0, 1) : x;
}

Value activation_gradient(Graph& graph, Activation activation, Value pre_activation, Value upstream) {
  const Op* op = ops_of(activation).backward;
  // The upstream comes first because that is what the result may overwrite.
  return op ? graph.apply(*op, {upstream, pre_activation}) : upstream;
}

Value add(Graph& graph, Value a, Value b) { return graph.apply(add_op, {a, b}); }

Value multiply(Graph& graph, Value a, Value b) { return graph.apply(multiply_op, {a, b}); }

Value scale(Graph& graph, Value x, double factor) { return graph.apply(scale_op, {x}, {{"factor", factor}}); }

Value scale_by(Graph& graph, Value x, Value factor) { return graph.apply(scale_by_op, {x, factor}); }

bool is_scale(const Node& node) { return node.op == &scale_op; }

bool is_elementwise(const Node& node) { return node.op->record == record && node.op != &scale_by_op; }

Value softcap(Graph& graph, Value x, double limit) {
  check(limit > 0, "[softcap] limit {} is not positive", limit);
  return graph.apply(softcap_op, {x}, {{"factor", limit}});
}

}  // namespace vkformer

VKFORMER_OPS(elementwise, &vkformer::add_op, &vkformer::scale_op, &vkformer::softcap_op, &vkformer::softcap_backward_op,
             &vkformer::multiply_op, &vkformer::scale_by_op, &vkformer::relu_op, &vkformer::gelu_op,
             &vkformer::gelu_tanh_op, &vkformer::silu_op, &vkformer::tanh_op, &vkformer::quick_gelu_op,
             &vkformer::relu_backward_op, &vkformer::gelu_backward_op, &vkformer::gelu_tanh_backward_op,
             &vkformer::silu_backward_op, &vkformer::tanh_backward_op, &vkformer::quick_gelu_backward_op)
