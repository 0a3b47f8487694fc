#include "shaders/expert_product/expert_product.h"

#include "runtime/encoding/encoding.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/expert_matmul/expert_matmul.h"
#include "shaders/expert_matmul/expert_problem.h"
#include "shaders/gated_unit/gated_unit.h"
#include "shaders/matmul/gpu/matmul_vector.args.h"
#include "shaders/matmul/gpu/vector.h"

namespace vkformer {

namespace {

enum Input : size_t { in_x, in_weight, in_chosen, in_bias, in_weights, in_residual };

bool is_summed(const Node& node) { return node.has_input(in_weights); }

/// A product of one row for each pair of a token and its expert; summed, one for each token, whose K is that of its
/// pairs, one after the other.
MatmulProblem product_of(const ExpertProblem& p, bool summed) {
  const int64_t slots = summed ? p.slots : 1;
  return {.batch = p.pairs / slots, .m = 1, .n = p.n, .k = p.k * slots, .transpose_b = true, .b_type = p.b_type};
}

bool is_legal(const ExpertProblem& p, bool summed, const DeviceFacts& facts) {
  // What an invocation loads at once must lie in one expert's row.
  const bool whole_loads = is_blocks(p.b_type) || p.k % (16 / size_of(p.b_type)) == 0;
  const bool fits = p.slots <= MATMUL_MOST_SLOTS && p.k <= MATMUL_MOST_SUMMED_K && whole_loads;
  return p.a_type == DType::f32 && p.transpose_b && (!summed || fits) && vector_legal(product_of(p, summed), facts);
}

// --- expert_product: x, weight, chosen, bias?, weights?, residual? -> y ---

Types infer(const Node& node) {
  const Shape& weight = node.in(in_weight);
  check(weight.rank() == 3 && node.input_types[in_chosen].dtype == DType::i32,
        "[expert_product] weight is {}, chosen {} {}; they must be [E, N, K] and i32 [.., k]", weight.to_string(),
        name_of(node.input_types[in_chosen].dtype), node.in(in_chosen).to_string());
  const ExpertProblem p = expert_problem(node);
  check(
      weight[2] == p.k && node.input_types[in_weight].dtype != DType::i32 && node.input_types[in_x].dtype == DType::f32,
      "[expert_product] x is {} {}, weight {} {}; they must be f32 [.., K] and floats [E, N, K]",
      name_of(node.input_types[in_x].dtype), node.in(in_x).to_string(), name_of(node.input_types[in_weight].dtype),
      weight.to_string());
  const bool summed = is_summed(node);
  check(summed ? !p.a_by_token : p.n % 2 == 0,
        "[expert_product] x is {}, weight {}; a sum needs a row of x for each pair, a gate an even N",
        node.in(in_x).to_string(), weight.to_string());
  const Shape& chosen = node.in(in_chosen);
  std::vector<int64_t> gated(chosen.dimensions().begin(), chosen.dimensions().end());
  gated.push_back(p.n / 2);
  const TensorType y{summed ? chosen.with_columns(p.n) : Shape(gated)};
  const auto needs = [&](size_t input, std::string_view name, const TensorType& type) {
    if (!node.has_input(input)) return;
    check(node.input_types[input] == type, "[expert_product] {} is {} {}, it must be f32 {}", name,
          name_of(node.input_types[input].dtype), node.in(input).to_string(), type.shape.to_string());
  };
  needs(in_bias, "bias", {{p.experts, p.n}});
  needs(in_weights, "weights", {chosen});
  needs(in_residual, "residual", y);
  check(summed || !node.has_input(in_residual), "[expert_product] only a sum has a residual");
  return {y};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return is_legal(expert_problem(node), is_summed(node), facts) ? std::vector<std::string_view>{"vector"}
                                                                : std::vector<std::string_view>{};
}

void record(Recorder& recorder, const Node& node) {
  const ExpertProblem p = expert_problem(node);
  const bool summed = is_summed(node);
  const MatmulProblem product = product_of(p, summed);
  const auto in = [&](size_t i) { return node.has_input(i) ? recorder.address(node.inputs[i]) : 0; };
  const MatmulWork work{.p = product,
                        .args = {.a = in(in_x),
                                 .b = in(in_weight),
                                 .y = recorder.address(node.outputs[0]),
                                 .bias = in(in_bias),
                                 .residual = in(in_residual),
                                 .m = 1,
                                 .n = static_cast<uint>(p.n),
                                 .k = static_cast<uint>(p.k),
                                 .batch = static_cast<uint>(product.batch),
                                 .scale = static_cast<float>(node.number("scale")),
                                 .flags = (in(in_bias) ? MATMUL_BIAS : 0) | (in(in_residual) ? MATMUL_RESIDUAL : 0)},
                        .activation = static_cast<uint32_t>(node.integer("gate"))};
  const bool shared = summed || p.a_by_token;
  record_vector(recorder, work,
                {.gated = !summed,
                 .chosen = in(in_chosen),
                 .slots = shared ? static_cast<uint32_t>(p.slots) : 1,
                 .weights = in(in_weights)});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const ExpertProblem p = expert_problem(node);
  const auto optional = [&](size_t i, int64_t at) { return i < in.size() && in[i] ? (*in[i])[at] : 0; };
  const auto value = [&](int64_t pair, int64_t column) {
    const auto expert = static_cast<int64_t>((*in[in_chosen])[pair]);
    const int64_t row = p.a_by_token ? pair / p.slots : pair;
    double sum = optional(in_bias, expert * p.n + column);
    for (int64_t k = 0; k < p.k; ++k)
      sum += (*in[in_x])[row * p.k + k] * (*in[in_weight])[(expert * p.n + column) * p.k + k];
    return sum;
  };
  const int64_t columns = node.out(0).columns();
  for (int64_t i = 0; i < node.out(0).elements(); ++i) {
    const int64_t row = i / columns, column = i % columns;
    if (!is_summed(node)) {
      out[0][i] = gated(static_cast<Gate>(node.integer("gate")), value(row, column), value(row, columns + column));
      continue;
    }
    for (int64_t pair = row * p.slots; pair < (row + 1) * p.slots; ++pair)
      out[0][i] += node.number("scale") * (*in[in_weights])[pair] * value(pair, column);
    out[0][i] += optional(in_residual, i);
  }
}

Attributes gate_attributes(double gate) { return {{"transposed", 1.0}, {"gate", gate}, {"scale", 1.0}}; }
Attributes sum_attributes(double scale) { return {{"transposed", 1.0}, {"gate", 0.0}, {"scale", scale}}; }

std::vector<Case> cases() {
  std::vector<Case> list;
  struct Parts {
    DType type = DType::f32;
    bool bias = false, residual = false;
    double scale = 1;
  };
  const auto inputs = [](const Shape& chosen, bool by_token, const Shape& weight, const Parts& parts) {
    std::vector<int64_t> rows(chosen.dimensions().begin(), chosen.dimensions().end());
    rows.push_back(weight[2]);
    return std::vector<CaseInput>{{.type = {by_token ? chosen.with_columns(weight[2]) : Shape(rows)}},
                                  {.type = {weight, parts.type}},
                                  {.type = {chosen, DType::i32}, .low = 0, .high = static_cast<double>(weight[0] - 1)},
                                  {.type = {{weight[0], weight[1]}}, .absent = !parts.bias}};
  };
  const auto add_gate = [&](const Shape& chosen, bool by_token, const Shape& weight, const Parts& parts,
                            Gate gate = Gate::silu) {
    Case next{.inputs = inputs(chosen, by_token, weight, parts),
              .attributes = gate_attributes(static_cast<double>(gate)),
              .reduction = weight[2]};
    next.inputs.resize(6, {.absent = true});
    list.push_back(std::move(next));
  };
  const auto add_sum = [&](const Shape& chosen, const Shape& weight, const Parts& parts) {
    Case next{.inputs = inputs(chosen, false, weight, parts),
              .attributes = sum_attributes(parts.scale),
              .reduction = weight[2] * chosen.columns()};
    next.inputs.push_back({.type = {chosen}, .low = 0.1, .high = 0.9});
    next.inputs.push_back({.type = {chosen.with_columns(weight[1])}, .absent = !parts.residual});
    list.push_back(std::move(next));
  };
  add_gate({1, 8}, true, {31, 96, 56}, {});
  add_gate({2, 3}, true, {5, 34, 37}, {.bias = true});
  add_gate({3, 2}, false, {5, 6, 1030}, {}, Gate::clamped);
  add_gate({1, 4}, true, {7, 96, 56}, {.type = DType::f16, .bias = true});
  add_gate({2, 2}, true, {5, 34, 256}, {.type = DType::q4_k});
  add_sum({1, 8}, {31, 96, 56}, {.residual = true, .scale = 1.75});
  add_sum({2, 3}, {5, 35, 36}, {.bias = true, .scale = 0.5});
  add_sum({3, 2}, {5, 7, 1032}, {.residual = true});
  add_sum({1, 4}, {7, 96, 56}, {.type = DType::f16, .bias = true, .residual = true});
  add_sum({1, 2}, {3, 19, 40}, {.type = DType::bf16});
  add_sum({2, 2}, {5, 35, 64}, {.type = DType::q8_0, .residual = true});
  for (const DType type : block_types)
    if (type != DType::q8_0) add_sum({1, 3}, {5, 35, 256}, {.type = type});
  add_sum({1, 1}, {1, 1, 4}, {});
  return list;
}

Cost cost(const Node& node) {
  const ExpertProblem p = expert_problem(node);
  const auto rows = static_cast<double>(node.in(in_x).elements() + node.out(0).elements());
  const auto read = static_cast<double>(node.input_types[in_weight].bytes() / p.experts * std::min(p.experts, p.pairs));
  return {.bytes = 4 * rows + read, .flops = 2 * static_cast<double>(p.pairs * p.n * p.k)};
}

const Op expert_product_op = {.name = "expert_product",
                              .infer = infer,
                              .record = record,
                              .reference = reference,
                              .cases = cases,
                              .cost = cost,
                              .candidates = candidates,
                              .room = [](std::string_view) { return KernelRoom::gpu; },
                              .half_inputs = 1u << in_weight,
                              .block_inputs = 1u << in_weight};

/// Whether the product would run on the kernel that takes in what is behind it.
bool can_take_in(const Node& product, bool summed, const DeviceFacts& facts) {
  if (facts.is_cpu() || !is_expert_matmul(product)) return false;
  const std::vector<std::string_view> kernels = product.op->candidates(product, facts);
  return !kernels.empty() && kernels.front() == "vector" && is_legal(expert_problem(product), summed, facts);
}

Value bias_of(const Node& product) { return product.has_input(expert_bias) ? product.inputs[expert_bias] : Value{}; }

}  // namespace

Value fuse_expert_gate(Graph& graph, const Node& product, const Node& gate, const DeviceFacts& facts) {
  if (!can_take_in(product, false, facts) || gate.has_input(1) || gate.in(0) != product.out(0) ||
      product.out(0).columns() % 2 != 0)
    return {};
  return graph.apply(expert_product_op, {product.inputs[0], product.inputs[1], product.inputs[2], bias_of(product)},
                     gate_attributes(gate.number("act")));
}

Value fuse_expert_sum(Graph& graph, const Node& product, const Node& sum, const DeviceFacts& facts) {
  if (!can_take_in(product, true, facts) || !sum.has_input(1) || sum.in(0) != product.out(0) ||
      expert_problem(product).a_by_token)
    return {};
  Value weights = sum.inputs[1];
  double factor = 1;
  if (const int producer = graph.info(weights).producer; producer >= 0)
    if (const Node& node = graph.nodes()[static_cast<size_t>(producer)]; is_scale(node)) {
      factor = node.number("factor");
      weights = node.inputs[0];
    }
  return graph.apply(expert_product_op,
                     {product.inputs[0], product.inputs[1], product.inputs[2], bias_of(product), weights,
                      sum.has_input(2) ? sum.inputs[2] : Value{}},
                     sum_attributes(factor));
}

}  // namespace vkformer

VKFORMER_OPS(expert_product, &vkformer::expert_product_op)
