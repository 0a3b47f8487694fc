#include "shaders/normed_product/normed_product.h"

#include <cmath>

#include "shaders/gated_unit/gated_unit.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/gpu/matmul_vector.args.h"
#include "shaders/matmul/gpu/vector.h"
#include "shaders/matmul/matmul_kernels.h"
#include "shaders/matmul/software/dot.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

namespace {

enum Input : size_t { in_x, in_gain, in_shift, in_b, in_bias, in_residual };

bool gated(const Node& node) { return node.flag("gated"); }
bool centred(const Node& node) { return node.flag("centred"); }

MatmulProblem problem_of(const Node& node) {
  const Shape &x = node.in(in_x), &b = node.in(in_b);
  const bool transpose_b = node.flag("transpose_b");
  return {.m = x.rows(),
          .n = transpose_b ? b[0] : b[1],
          .k = x.columns(),
          .transpose_b = transpose_b,
          .b_type = node.input_types[in_b].dtype,
          .scale = static_cast<float>(node.number("scale")),
          .activation = static_cast<Activation>(node.integer("activation"))};
}

// --- normed_product: x, gain, shift?, b, bias?, residual? -> y ---

Types infer(const Node& node) {
  const Shape &x = node.in(in_x), &b = node.in(in_b);
  check(x.rank() >= 1 && x.elements() > 0 && b.rank() == 2 && b.elements() > 0 &&
            b[node.flag("transpose_b") ? 1 : 0] == x.columns(),
        "[normed_product] x is {}, b {}; they must be [.., K] and [N, K], or [K, N] when b is not transposed",
        x.to_string(), b.to_string());
  check(node.input_types[in_x].dtype == DType::f32 && node.input_types[in_b].dtype != DType::i32,
        "[normed_product] x is {}, b {}; x must be f32, b a float", name_of(node.input_types[in_x].dtype),
        name_of(node.input_types[in_b].dtype));
  const MatmulProblem p = problem_of(node);
  check(!gated(node) || p.n % 2 == 0, "[normed_product] b {} doesn't hold gates and what they gate", b.to_string());
  const TensorType y{x.with_columns(gated(node) ? p.n / 2 : p.n)};
  const auto needs = [&](size_t input, std::string_view name, const TensorType& type) {
    check(!node.has_input(input) || node.input_types[input] == type, "[normed_product] {} is {} {}, it must be f32 {}",
          name, name_of(node.input_types[input].dtype), node.in(input).to_string(), type.shape.to_string());
  };
  needs(in_gain, "gain", {{p.k}});
  needs(in_shift, "shift", {{p.k}});
  needs(in_bias, "bias", {{p.n}});
  needs(in_residual, "residual", y);
  check(centred(node) || !node.has_input(in_shift), "[normed_product] an rms_norm has no shift");
  return {y};
}

bool dot_norm_legal(const MatmulProblem& p, const DeviceFacts& facts, bool is_centred) {
  return !is_centred && dot_legal(p, facts);
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  const MatmulProblem p = problem_of(node);
  std::vector<std::string_view> names;
  if (dot_norm_legal(p, facts, centred(node))) names.push_back("dot");
  if (normed_vector_legal(p, facts, gated(node))) names.push_back("vector");
  return names;
}

KernelRoom room(std::string_view candidate) { return candidate == "dot" ? KernelRoom::cpu : KernelRoom::gpu; }

void record(Recorder& recorder, const Node& node) {
  const MatmulProblem p = problem_of(node);
  const auto in = [&](size_t i) { return node.has_input(i) ? recorder.address(node.inputs[i]) : 0; };
  const MatmulArgs args{.a = in(in_x),
                        .b = in(in_b),
                        .y = recorder.address(node.outputs[0]),
                        .bias = in(in_bias),
                        .residual = in(in_residual),
                        .m = static_cast<uint>(p.m),
                        .n = static_cast<uint>(p.n),
                        .k = static_cast<uint>(p.k),
                        .batch = 1,
                        .scale = p.scale,
                        .flags = (in(in_bias) ? MATMUL_BIAS : 0) | (in(in_residual) ? MATMUL_RESIDUAL : 0)};
  const MatmulWork work{.p = p, .args = args, .activation = static_cast<uint32_t>(p.activation)};
  const auto epsilon = static_cast<float>(node.number("epsilon"));
  const auto gain_offset = static_cast<float>(node.number("gain_offset"));
  if (recorder.candidate() == "dot")
    record_dot(recorder, work,
               {.gain = in(in_gain), .gain_offset = gain_offset, .epsilon = epsilon, .gated = gated(node)});
  else
    record_vector(recorder, work,
                  {.norm = centred(node) ? MATMUL_NORM_LAYER : MATMUL_NORM_RMS,
                   .gain = in(in_gain),
                   .shift = in(in_shift),
                   .gain_offset = gain_offset,
                   .epsilon = epsilon,
                   .gated = gated(node)});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const MatmulProblem p = problem_of(node);
  const HostTensor &x = *in[in_x], &gain = *in[in_gain], &b = *in[in_b];
  const auto optional = [&](size_t i, int64_t at) { return i < in.size() && in[i] ? (*in[i])[at] : 0; };
  const auto count = static_cast<double>(p.k);
  const int64_t columns = gated(node) ? p.n / 2 : p.n;
  for (int64_t r = 0; r < p.m; ++r) {
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < p.k; ++k) sum += x[r * p.k + k];
    const double mean = centred(node) ? sum / count : 0;
    for (int64_t k = 0; k < p.k; ++k) squares += (x[r * p.k + k] - mean) * (x[r * p.k + k] - mean);
    const double deviation = std::sqrt(squares / count + node.number("epsilon"));
    const auto value = [&](int64_t n) {
      double product = 0;
      for (int64_t k = 0; k < p.k; ++k)
        product +=
            ((x[r * p.k + k] - mean) / deviation * (node.number("gain_offset") + gain[k]) + optional(in_shift, k)) *
            b[p.transpose_b ? n * p.k + k : k * p.n + n];
      return node.number("scale") * product + optional(in_bias, n);
    };
    for (int64_t c = 0; c < columns; ++c)
      out[0][r * columns + c] = activated(p.activation, value(c)) * (gated(node) ? value(columns + c) : 1) +
                                optional(in_residual, r * columns + c);
  }
}

struct CaseSizes {
  int64_t rows, n, k;
};

struct CaseParts {
  Activation activation = Activation::none;
  bool gated = false;
  bool centred = false;
  bool shift = false;
  bool bias = false;
  bool residual = false;
  bool transpose_b = true;
  DType b_type = DType::f32;
  double scale = 1;
  double gain_offset = 0;
};

Case make_case(const CaseSizes& sizes, const CaseParts& parts) {
  const auto [rows, n, k] = sizes;
  return {.inputs = {{.type = {{rows, k}}, .low = -2, .high = 2},
                     {.type = {{k}}, .low = 0.5 - parts.gain_offset, .high = 1.5 - parts.gain_offset},
                     {.type = {{k}}, .absent = !parts.shift},
                     {.type = {parts.transpose_b ? Shape{n, k} : Shape{k, n}, parts.b_type}},
                     {.type = {{n}}, .absent = !parts.bias},
                     {.type = {{rows, parts.gated ? n / 2 : n}}, .absent = !parts.residual}},
          .attributes = {{"epsilon", 0.25},
                         {"gain_offset", parts.gain_offset},
                         {"scale", parts.scale},
                         {"activation", static_cast<double>(parts.activation)},
                         {"gated", parts.gated},
                         {"centred", parts.centred},
                         {"transpose_b", parts.transpose_b}},
          .reduction = k};
}

// Sizes of K, counts of rows, activations and types are pipelines that compile for up to seconds: each once.
std::vector<Case> cases() {
  constexpr Activation silu = Activation::silu;
  return {
      make_case({1, 19, 144}, {.bias = true}),
      make_case({1, 1, 144}, {}),
      make_case({2, 34, 144}, {.activation = silu, .gated = true, .scale = 0.125}),
      make_case({2, 34, 144}, {.activation = silu, .gated = true, .gain_offset = 1}),
      make_case({2, 2, 144}, {.activation = silu, .gated = true, .bias = true, .residual = true}),
      make_case({1, 19, 144}, {.bias = true, .b_type = DType::bf16}),
      make_case({2, 34, 144}, {.activation = silu, .gated = true, .b_type = DType::f16, .scale = 0.125}),
      make_case({3, 35, 48}, {.activation = Activation::relu, .bias = true}),
      make_case({4, 70, 16}, {.activation = Activation::gelu_tanh, .gated = true, .bias = true}),
      // Only for GPUs: layer_norm, b as it is, more rows, several columns a team.
      make_case({1, 19, 130}, {.centred = true, .shift = true, .bias = true, .residual = true}),
      make_case({3, 20, 64},
                {.activation = Activation::gelu_tanh, .centred = true, .shift = true, .transpose_b = false}),
      make_case({1, 21, 130}, {.centred = true, .bias = true, .transpose_b = false, .b_type = DType::f16}),
      make_case({1, 8202, 64}, {.activation = silu, .gated = true}),
      // More columns than are loaded together: gains come later.
      make_case({2, 3, 2100}, {.centred = true, .shift = true}),
      // Encoded blocks.
      make_case({1, 35, 512}, {.b_type = DType::q8_0}),
      make_case({1, 34, 512}, {.activation = silu, .gated = true, .b_type = DType::q4_0}),
      make_case({3, 35, 256}, {.centred = true, .shift = true, .bias = true, .b_type = DType::q4_k}),
      make_case({1, 34, 256}, {.activation = silu, .gated = true, .b_type = DType::q6_k}),
  };
}

Cost cost(const Node& node) {
  const MatmulProblem p = problem_of(node);
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
  const double results = m * static_cast<double>(node.out(0).columns()) * (node.has_input(in_residual) ? 2 : 1);
  return {.bytes = 4 * (m * k + k + results) + static_cast<double>(node.input_types[in_b].bytes()),
          .flops = 2 * m * n * k + 3 * m * k};
}

const Op normed_product_op = {.name = "normed_product",
                              .infer = infer,
                              .record = record,
                              .reference = reference,
                              .cases = cases,
                              .cost = cost,
                              .candidates = candidates,
                              .room = room,
                              .half_inputs = 1u << in_b,
                              .block_inputs = 1u << in_b};

}  // namespace

Value fuse_norm(Graph& graph, const Node& norm, const Node& product, const DeviceFacts& facts) {
  const MatmulProblem p = matmul_problem(product);
  const bool all_f32 = norm.output_types[0].dtype == DType::f32 && p.a_type == DType::f32 && p.y_type == DType::f32;
  const bool by_rows = norm.in(1) == Shape{p.k};  // not by groups of a row's columns
  if (product.in(1).rank() != 2 || p.transpose_a || !all_f32 || !by_rows) return {};
  const bool is_centred = is_layer_norm(norm);
  const std::vector<std::string_view> kernels = matmul_candidates(product, facts);
  const std::string_view kernel = kernels.empty() ? "" : kernels.front();
  const bool can = (kernel == "dot" && dot_norm_legal(p, facts, is_centred)) ||
                   (kernel == "vector" && normed_vector_legal(p, facts, false));
  if (!can) return {};
  const auto optional = [](const Node& node, size_t i) { return node.has_input(i) ? node.inputs[i] : Value{}; };
  return graph.apply(
      normed_product_op,
      {reshape(graph, norm.inputs[0], product.in(0)), norm.inputs[1], is_centred ? optional(norm, 2) : Value{},
       product.inputs[1], optional(product, 2), optional(product, 3)},
      {{"epsilon", norm.number("epsilon")},
       {"gain_offset", is_centred ? 0 : norm.number("gain_offset")},
       {"scale", static_cast<double>(p.scale)},
       {"activation", static_cast<double>(p.activation)},
       {"gated", false},
       {"centred", is_centred},
       {"transpose_b", p.transpose_b}});
}

// Gates from `clamped` on are no activations, which is all that "dot" knows.
Value fuse_gate(Graph& graph, const Node& product, const Node& gate, const DeviceFacts& facts) {
  if (product.op != &normed_product_op || gate.has_input(1) || gated(product) || product.has_input(in_residual) ||
      product.integer("activation") != 0 || gate.integer("act") >= static_cast<int64_t>(Gate::clamped))
    return {};
  const MatmulProblem p = problem_of(product);
  if (!dot_norm_legal(p, facts, centred(product)) && !normed_vector_legal(p, facts, true)) return {};
  Attributes attributes = product.attributes;
  attributes.set("gated", true);
  attributes.set("activation", gate.number("act"));
  return reshape(graph, graph.apply(normed_product_op, product.inputs, attributes), gate.out(0));
}

}  // namespace vkformer

VKFORMER_OPS(normed_product, &vkformer::normed_product_op)
