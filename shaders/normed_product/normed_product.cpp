#include "shaders/normed_product/normed_product.h"

#include <cmath>

#include "shaders/matmul/matmul_kernels.h"
#include "shaders/matmul/software/dot.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

namespace {

bool gated(const Node& node) { return node.flag("gated"); }

MatmulProblem problem_of(const Node& node) {
  return {.m = node.in(0).rows(),
          .n = node.in(2)[0],
          .k = node.in(0).columns(),
          .transpose_b = true,
          .b_type = node.input_types[2].dtype,
          .scale = static_cast<float>(node.number("scale")),
          .activation = static_cast<Activation>(node.integer("activation"))};
}

// --- normed_product: x, gain, b, bias? -> y ---

Types infer(const Node& node) {
  const Shape &x = node.in(0), &b = node.in(2);
  check(x.rank() >= 1 && x.elements() > 0 && b.rank() == 2 && b[0] > 0 && b[1] == x.columns(),
        "[normed_product] x is {}, b {}; they must be [.., K] and [N, K]", x.to_string(), b.to_string());
  check(node.input_types[1] == TensorType{{x.columns()}}, "[normed_product] gain is {} {}, x {} needs f32 [{}]",
        name_of(node.input_types[1].dtype), node.in(1).to_string(), x.to_string(), x.columns());
  check(node.input_types[0].dtype == DType::f32 && node.input_types[2].dtype != DType::i32,
        "[normed_product] x is {}, b {}; x must be f32, b a float", name_of(node.input_types[0].dtype),
        name_of(node.input_types[2].dtype));
  if (node.has_input(3))
    check(node.input_types[3] == TensorType{{b[0]}}, "[normed_product] bias is {} {}, b {} needs f32 [{}]",
          name_of(node.input_types[3].dtype), node.in(3).to_string(), b.to_string(), b[0]);
  check(!gated(node) || b[0] % 2 == 0, "[normed_product] b {} doesn't hold gates and what they gate", b.to_string());
  return {{x.with_columns(gated(node) ? b[0] / 2 : b[0])}};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return dot_legal(problem_of(node), facts) ? std::vector<std::string_view>{"dot"} : std::vector<std::string_view>{};
}

void record(Recorder& recorder, const Node& node) {
  const MatmulProblem p = problem_of(node);
  const MatmulArgs args{.a = recorder.address(node.inputs[0]),
                        .b = recorder.address(node.inputs[2]),
                        .y = recorder.address(node.outputs[0]),
                        .bias = node.has_input(3) ? recorder.address(node.inputs[3]) : 0,
                        .m = static_cast<uint>(p.m),
                        .n = static_cast<uint>(p.n),
                        .k = static_cast<uint>(p.k),
                        .scale = p.scale,
                        .flags = node.has_input(3) ? MATMUL_BIAS : 0};
  record_dot(recorder, {.p = p, .args = args, .activation = static_cast<uint32_t>(p.activation)},
             {.gain = recorder.address(node.inputs[1]),
              .epsilon = static_cast<float>(node.number("epsilon")),
              .gated = gated(node)});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const MatmulProblem p = problem_of(node);
  const HostTensor &x = *in[0], &gain = *in[1], &b = *in[2];
  const int64_t columns = gated(node) ? p.n / 2 : p.n;
  for (int64_t r = 0; r < p.m; ++r) {
    double squares = 0;
    for (int64_t k = 0; k < p.k; ++k) squares += x[r * p.k + k] * x[r * p.k + k];
    const double rms = std::sqrt(squares / static_cast<double>(p.k) + node.number("epsilon"));
    const auto value = [&](int64_t n) {
      double sum = 0;
      for (int64_t k = 0; k < p.k; ++k) sum += x[r * p.k + k] / rms * gain[k] * b[n * p.k + k];
      return node.number("scale") * sum + (in.size() > 3 && in[3] ? (*in[3])[n] : 0);
    };
    for (int64_t c = 0; c < columns; ++c)
      out[0][r * columns + c] = activated(p.activation, value(c)) * (gated(node) ? value(columns + c) : 1);
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](int64_t rows, int64_t n, int64_t k, Activation activation, bool is_gated, bool bias,
                       DType b_type = DType::f32, double scale = 1) {
    list.push_back({.inputs = {{.type = {{rows, k}}, .low = -2, .high = 2},
                               {.type = {{k}}, .low = 0.5, .high = 1.5},
                               {.type = {{n, k}, b_type}},
                               {.type = {{n}}, .absent = !bias}},
                    .attributes = {{"epsilon", 0.25},
                                   {"scale", scale},
                                   {"activation", static_cast<double>(activation)},
                                   {"gated", is_gated}},
                    .reduction = k});
  };
  // Sizes of K, counts of rows, activations and types are pipelines that compile for up to seconds: each once.
  add(1, 19, 144, Activation::none, false, true);
  add(1, 1, 144, Activation::none, false, false);
  add(2, 34, 144, Activation::silu, true, false, DType::f32, 0.125);
  add(2, 2, 144, Activation::silu, true, true);
  add(1, 19, 144, Activation::none, false, true, DType::bf16);
  add(2, 34, 144, Activation::silu, true, false, DType::f16, 0.125);
  add(3, 35, 48, Activation::relu, false, true);
  add(4, 70, 16, Activation::gelu_tanh, true, true);
  return list;
}

Cost cost(const Node& node) {
  const MatmulProblem p = problem_of(node);
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  return {.bytes = 4 * (m * k + k + m * static_cast<double>(node.out(0).columns())) +
                   n * k * static_cast<double>(size_of(p.b_type)),
          .flops = 2 * m * n * k + 3 * m * k};
}

const Op normed_product_op = {.name = "normed_product",
                              .infer = infer,
                              .record = record,
                              .reference = reference,
                              .cases = cases,
                              .cost = cost,
                              .candidates = candidates,
                              .half_inputs = 0b100};

}  // namespace

Value fuse_norm(Graph& graph, const Node& norm, const Node& product, const DeviceFacts& facts) {
  const bool can = norm.output_types[0].dtype == DType::f32 && product.in(1).rank() == 2 && !product.has_input(3);
  if (!can || matmul_candidates(product, facts).front() != "dot") return {};
  const MatmulProblem p = matmul_problem(product);
  return graph.apply(normed_product_op,
                     {reshape(graph, norm.inputs[0], product.in(0)), norm.inputs[1], product.inputs[1],
                      product.has_input(2) ? product.inputs[2] : Value{}},
                     {{"epsilon", norm.number("epsilon")},
                      {"scale", static_cast<double>(p.scale)},
                      {"activation", static_cast<double>(p.activation)},
                      {"gated", false}});
}

Value fuse_gate(Graph& graph, const Node& product, const Node& gate) {
  const bool can = product.op == &normed_product_op && !gate.has_input(1);
  if (!can || product.flag("gated") || product.integer("activation") != 0) return {};
  const Value y = graph.apply(normed_product_op, product.inputs,
                              {{"epsilon", product.number("epsilon")},
                               {"scale", product.number("scale")},
                               {"activation", gate.number("act")},
                               {"gated", true}});
  return reshape(graph, y, gate.out(0));
}

}  // namespace vkformer

VKFORMER_OPS(normed_product, &vkformer::normed_product_op)
