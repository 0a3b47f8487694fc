#include "shaders/matmul/matmul.h"

#include <algorithm>

#include "shaders/cast/cast.h"
#include "shaders/column_sum/column_sum.h"
#include "shaders/common/result_type.h"
#include "shaders/matmul/matmul_cases.h"
#include "shaders/matmul/matmul_kernels.h"

namespace vkformer {

namespace {

/// Attributes that are left out have their value in a default MatmulOptions.
double attribute(const Node& node, std::string_view name, double otherwise) {
  for (const auto& [key, value] : node.attributes.entries())
    if (key == name) return value;
  return otherwise;
}

bool flag(const Node& node, std::string_view name) { return attribute(node, name, 0) != 0; }

/// The shape without its last `count` dimensions.
Shape leading(const Shape& shape, int count) {
  return Shape(shape.dimensions().first(static_cast<size_t>(shape.rank() - count)));
}

Shape append(const Shape& shape, std::initializer_list<int64_t> tail) {
  std::vector<int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
  dimensions.insert(dimensions.end(), tail);
  return Shape(dimensions);
}

bool is_batched(const Node& node) { return node.in(1).rank() >= 3 && !flag(node, "join_rows"); }

Types infer(const Node& node) {
  const Shape &a = node.in(0), &b = node.in(1);
  const bool transpose_a = flag(node, "transpose_a"), transpose_b = flag(node, "transpose_b");
  const bool join_rows = flag(node, "join_rows");
  check(a.rank() >= 2 && b.rank() >= 2, "[matmul] a is {}, b is {}; both need at least two dimensions", a.to_string(),
        b.to_string());
  check(a.elements() > 0 && b.elements() > 0, "[matmul] a is {}, b is {}; neither may be empty", a.to_string(),
        b.to_string());
  check(!(transpose_a && transpose_b), "[matmul] transpose_a and transpose_b exclude each other");
  check(transpose_a || !join_rows, "[matmul] join_rows needs transpose_a");
  if (join_rows)
    check(leading(a, 1) == leading(b, 1), "[matmul] a is {}, b is {}; to join their rows all but the last must agree",
          a.to_string(), b.to_string());
  else if (is_batched(node))
    check(leading(a, 2) == leading(b, 2), "[matmul] a is {}, b is {}; all but the last two dimensions must agree",
          a.to_string(), b.to_string());
  else
    check(!transpose_a || a.rank() == 2, "[matmul] a is {}: transposed with b {} it must have two dimensions",
          a.to_string(), b.to_string());
  const MatmulProblem p = matmul_problem(node);
  check(p.a_type != DType::i32 && p.b_type != DType::i32 && (!is_half(p.a_type) || p.a_type == p.b_type),
        "[matmul] a is {}, b is {}; both must be floats, and b what a is when that has 16 bits", name_of(p.a_type),
        name_of(p.b_type));
  check(!is_blocks(p.b_type) || !transpose_a, "[matmul] b is {}; then a is not to be transposed", name_of(p.b_type));
  check(p.y_type == DType::f32 || (is_half(p.y_type) && p.a_type == p.y_type && p.n % 2 == 0),
        "[matmul] y is to be {} with {} columns, a is {}; it is f32, or of a's type with an even number of columns",
        name_of(p.y_type), p.n, name_of(p.a_type));
  if (node.has_input(2))
    check(node.input_types[2].dtype == DType::f32, "[matmul] bias is {}, it must be f32",
          name_of(node.input_types[2].dtype));
  if (node.has_input(3))
    check(node.input_types[3].dtype == p.y_type, "[matmul] residual is {}, it must be {} like y",
          name_of(node.input_types[3].dtype), name_of(p.y_type));
  const int64_t k_of_b = join_rows ? b.rows() : transpose_b ? b.columns() : b[-2];
  check(p.k == k_of_b, "[matmul] a is {} and sums over {}, b is {} and sums over {}", a.to_string(), p.k, b.to_string(),
        k_of_b);

  Shape y{p.m, p.n};
  if (is_batched(node))
    y = append(leading(a, 2), {p.m, p.n});
  else if (!transpose_a)
    y = a.with_columns(p.n);
  if (node.has_input(2))
    check(node.in(2) == Shape{p.n}, "[matmul] bias is {}, y has {} columns", node.in(2).to_string(), p.n);
  if (node.has_input(3))
    check(node.in(3) == y, "[matmul] residual is {}, y is {}", node.in(3).to_string(), y.to_string());
  if (p.activation == Activation::none) return {{y, p.y_type}};
  return {{y, p.y_type}, {y, p.y_type}};
}

/// Of an operand's gradient: its own where that is a 16-bit value, f32 where it was rounded from one.
DType gradient_type(const Graph& graph, Value operand) {
  const ValueInfo& info = graph.info(operand);
  const bool rounded = info.producer >= 0 && is_cast(graph.nodes()[static_cast<size_t>(info.producer)]);
  const bool half = is_half(info.type.dtype) && !rounded && info.type.shape.columns() % 2 == 0;
  return half ? info.type.dtype : DType::f32;
}

Values gradient(Graph& graph, const Node& original, std::span<const Value> upstream) {
  const Node node = original;  // adding nodes moves the graph's
  const MatmulProblem p = matmul_problem(node);
  Value sums;  // the gradient of the value before the activation
  if (p.activation == Activation::none) {
    sums = upstream[0];
  } else {
    if (upstream[0])
      sums = activation_gradient(graph, p.activation, node.outputs[1], cast(graph, upstream[0], p.y_type));
    if (upstream[1]) sums = sums ? add(graph, sums, upstream[1]) : upstream[1];
  }
  if (!sums) return Values(node.inputs.size());

  const Value a = node.inputs[0], b = node.inputs[1];
  const bool join = !is_batched(node);
  const DType of_a = gradient_type(graph, a), of_b = join ? DType::f32 : gradient_type(graph, b);
  const auto product = [&](Value left, Value right, MatmulOptions options, DType type) {
    options.scale = p.scale;
    options.result = type;
    return matmul(graph, left, right, options);
  };
  const MatmulOptions nn{}, nt{.transpose_b = true}, tn{.transpose_a = true, .join_rows = join};
  Values gradients(node.inputs.size());
  const Value factor = cast(graph, sums, p.a_type);  // products of 16-bit operands have 16-bit ones in their gradients
  if (p.transpose_a) {
    gradients[0] = product(b, factor, nt, of_a);
    gradients[1] = product(a, factor, nn, of_b);
  } else if (p.transpose_b) {
    gradients[0] = product(factor, b, nn, of_a);
    gradients[1] = product(factor, a, tn, of_b);
  } else {
    gradients[0] = product(factor, b, nt, of_a);
    gradients[1] = product(a, factor, tn, of_b);
  }
  if (node.has_input(2)) gradients[2] = column_sum(graph, sums);
  if (node.has_input(3)) gradients[3] = upstream[0];
  return gradients;
}

void reference(const Node& node, Inputs in, Outputs out) {
  const MatmulProblem p = matmul_problem(node);
  const HostTensor &a = *in[0], &b = *in[1];
  const HostTensor* bias = in.size() > 2 ? in[2] : nullptr;
  const HostTensor* residual = in.size() > 3 ? in[3] : nullptr;
  const double scale = attribute(node, "scale", 1), most = most_of_result(node);
  for (int64_t i = 0; i < p.batch * p.m * p.n; ++i) {
    const int64_t product = i / (p.m * p.n), row = i / p.n % p.m, column = i % p.n;
    const int64_t a_base = product * p.m * p.k, b_base = product * p.k * p.n;
    double sum = 0;
    for (int64_t k = 0; k < p.k; ++k)
      sum += a[a_base + (p.transpose_a ? k * p.m + row : row * p.k + k)] *
             b[b_base + (p.transpose_b ? column * p.k + k : k * p.n + column)];
    double value = scale * sum + (bias ? (*bias)[column] : 0);
    if (p.activation != Activation::none) value = saturated(value, most);  // of y's type before it is activated
    out[0][i] = saturated(activated(p.activation, value) + (residual ? (*residual)[i] : 0), most);
    if (out.size() > 1) out[1][i] = value;
  }
}

Cost cost(const Node& node) {
  const MatmulProblem p = matmul_problem(node);
  const auto batch = static_cast<double>(p.batch), m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  const double moved = m * k * static_cast<double>(size_of(p.a_type)) +
                       m * n * (node.has_input(3) ? 2 : 1) * static_cast<double>(size_of(p.y_type));
  return {.bytes = batch * moved + static_cast<double>(node.input_types[1].bytes()), .flops = 2 * batch * m * n * k};
}

const Op matmul_op = {.name = "matmul",
                      .infer = infer,
                      .record = record_matmul,
                      .gradient = gradient,
                      .reference = reference,
                      .cases = matmul_cases,
                      .cost = cost,
                      .candidates = matmul_candidates,
                      .room = matmul_room,
                      .scratch = matmul_scratch,
                      .half_inputs = 0b1011,
                      .block_inputs = 0b10,
                      .addend = 3};

}  // namespace

bool is_matmul(const Node& node) { return node.op == &matmul_op; }

MatmulProblem matmul_problem(const Node& node) {
  const Shape &a = node.in(0), &b = node.in(1);
  MatmulProblem p{.transpose_a = flag(node, "transpose_a"),
                  .transpose_b = flag(node, "transpose_b"),
                  .a_type = node.input_types[0].dtype,
                  .b_type = node.input_types[1].dtype,
                  .y_type = result_type(node),
                  .scale = static_cast<float>(attribute(node, "scale", 1)),
                  .activation = static_cast<Activation>(attribute(node, "activation", 0)),
                  .saturated = most_of_result(node) == most_f16};
  const bool batched = is_batched(node);
  if (batched) p.batch = leading(b, 2).elements();
  const int64_t rows = batched ? a[-2] : a.rows();
  p.m = p.transpose_a ? a.columns() : rows;
  p.k = p.transpose_a ? rows : a.columns();
  p.n = p.transpose_b ? b[-2] : b.columns();
  return p;
}

Value matmul(Graph& graph, Value a, Value b, const MatmulOptions& options) {
  Attributes attributes{{"transpose_a", options.transpose_a},
                        {"transpose_b", options.transpose_b},
                        {"join_rows", options.join_rows},
                        {"scale", static_cast<double>(options.scale)},
                        {"activation", static_cast<double>(options.activation)}};
  set_result_type(attributes, options.result);
  return graph.apply(matmul_op, {a, b, options.bias, options.residual}, attributes);
}

}  // namespace vkformer

VKFORMER_OPS(matmul, &vkformer::matmul_op)
