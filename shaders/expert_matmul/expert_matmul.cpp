#include "shaders/expert_matmul/expert_matmul.h"

#include <algorithm>

#include "runtime/encoding/encoding.h"
#include "runtime/half.h"
#include "shaders/common/result_type.h"
#include "shaders/embedding/embedding.h"
#include "shaders/expert_matmul/expert_problem.h"
#include "shaders/expert_sum/expert_sum.h"
#include "shaders/reshape/reshape.h"

namespace vkformer {

namespace {

extern const Op expert_matmul_backward_op;

bool is_backward(const Node& node) { return node.op == &expert_matmul_backward_op; }

Shape append(const Shape& shape, int64_t last) {
  std::vector<int64_t> dimensions(shape.dimensions().begin(), shape.dimensions().end());
  dimensions.push_back(last);
  return Shape(dimensions);
}

void check_chosen(const Node& node) {
  const Shape& chosen = node.in(2);
  check(node.input_types[2].dtype == DType::i32 && chosen.rank() >= 1 && chosen.elements() > 0 &&
            chosen.rank() < Shape::max_rank,
        "[{}] chosen is {} {}, needs i32 [.., k]", node.op->name, name_of(node.input_types[2].dtype),
        chosen.to_string());
}

constexpr std::string_view for_matrix_cores = "for_matrix_cores";

bool may_be_half(const Node& node, size_t i) {
  const auto named = [](const auto& entry) { return entry.first == for_matrix_cores; };
  return i == 0 && std::ranges::any_of(node.attributes.entries(), named);
}

/// Whether input i has a row for each token, not for each pair of a token and its expert; throws where it has neither.
bool is_by_token(const Node& node, size_t i) {
  const Shape &rows = node.in(i), &chosen = node.in(2);
  const bool by_pair = rows == append(chosen, rows.columns());
  const DType type = node.input_types[i].dtype;
  check((type == DType::f32 || (is_half(type) && may_be_half(node, i))) && rows.columns() > 0 &&
            (by_pair || rows == chosen.with_columns(rows.columns())),
        "[{}] rows are {} {}, chosen is {}; needs f32 [.., K] or [.., k, K]", node.op->name,
        name_of(node.input_types[i].dtype), rows.to_string(), chosen.to_string());
  return !by_pair;
}

// --- expert_matmul: x, weight, chosen, bias? -> y ---

Types infer(const Node& node) {
  check_chosen(node);
  is_by_token(node, 0);
  const Shape& weight = node.in(1);
  check(node.input_types[1].dtype != DType::i32 && weight.rank() == 3 && weight.elements() > 0,
        "[expert_matmul] weight is {} {}, needs floats [E, .., ..]", name_of(node.input_types[1].dtype),
        weight.to_string());
  const ExpertProblem p = expert_problem(node);
  check(weight[p.transpose_b ? 2 : 1] == p.k, "[expert_matmul] x is {} and sums over {}, weight is {}",
        node.in(0).to_string(), p.k, weight.to_string());
  check(p.a_type == DType::f32 || p.a_type == p.b_type || (p.a_type == DType::f16 && is_blocks(p.b_type)),
        "[expert_matmul] x is {}, weight {}; they must be of one type, or x f16 beside blocks", name_of(p.a_type),
        name_of(p.b_type));
  if (p.has_bias)
    check(node.input_types[expert_bias] == TensorType{{p.experts, p.n}},
          "[expert_matmul] bias is {}, needs f32 [{}, {}]", node.in(expert_bias).to_string(), p.experts, p.n);
  return {{append(node.in(2), p.n)}};
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return Values(node.inputs.size());
  const ExpertProblem p = expert_problem(node);
  check(p.a_type == DType::f32, "[expert_matmul] x is {}, which is not differentiable", name_of(p.a_type));
  const Values inputs = node.inputs;
  const Shape x_shape = node.in(0);
  Value x = expert_matmul(graph, upstream[0], inputs[1], inputs[2], !p.transpose_b);
  if (p.a_by_token) x = p.slots > 1 ? expert_sum(graph, x, {}) : reshape(graph, x, x_shape);
  const Value a = p.transpose_b ? upstream[0] : inputs[0], b = p.transpose_b ? inputs[0] : upstream[0];
  const Value weight =
      graph.apply(expert_matmul_backward_op, {a, b, inputs[2]}, {{"experts", static_cast<double>(p.experts)}});
  Values gradients = {x, weight, {}};
  if (p.has_bias) gradients.push_back(scatter_rows(graph, upstream[0], inputs[2], p.experts));
  return gradients;
}

void reference(const Node& node, Inputs in, Outputs out) {
  const ExpertProblem p = expert_problem(node);
  const HostTensor &x = *in[0], &weight = *in[1], &chosen = *in[2];
  const bool rounds = is_half(p.a_type) && is_blocks(p.b_type);
  const auto multiplied = [&](double w) { return rounds ? round_to(p.a_type, saturated(w, most_of(p.a_type))) : w; };
  for (int64_t i = 0; i < p.pairs * p.n; ++i) {
    const int64_t pair = i / p.n, column = i % p.n, row = p.a_by_token ? pair / p.slots : pair;
    const int64_t expert = static_cast<int64_t>(chosen[pair]), start = expert * p.n * p.k;
    if (p.has_bias) out[0][i] = (*in[expert_bias])[expert * p.n + column];
    for (int64_t k = 0; k < p.k; ++k)
      out[0][i] += x[row * p.k + k] * multiplied(weight[start + (p.transpose_b ? column * p.k + k : k * p.n + column)]);
  }
}

/// Which of `experts` the cases' pairs choose.
struct Chosen {
  int64_t first = 0, last = -1;  ///< -1: all
};

CaseInput chosen_of(const Shape& shape, int64_t experts, Chosen chosen) {
  const int64_t last = chosen.last < 0 ? experts - 1 : chosen.last;
  return {.type = {shape, DType::i32}, .low = static_cast<double>(chosen.first), .high = static_cast<double>(last)};
}

// Odd sizes and whole quads; experts without rows, with one, with several tiles of them; one expert for all.
std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](const Shape& chosen, bool by_token, int64_t experts, int64_t n, int64_t k, bool transposed,
                       Chosen among = {}, DType type = DType::f32, bool bias = false) {
    const Shape x = by_token ? chosen.with_columns(k) : append(chosen, k);
    const Shape weight = transposed ? Shape{experts, n, k} : Shape{experts, k, n};
    list.push_back({.inputs = {{.type = {x}},
                               {.type = {weight, type}},
                               chosen_of(chosen, experts, among),
                               {.type = {{experts, n}}, .absent = !bias}},
                    .attributes = {{"transposed", transposed ? 1.0 : 0.0}},
                    .reduction = std::max({n, k, chosen.elements()})});
    // Sizes of tiles are f32's to prove.
    if (type != DType::f32) list.back().spared = {"tile64"};
  };
  for (const bool transposed : {true, false}) {
    add({1, 1}, true, 1, 1, 1, transposed);
    add({2, 3, 2}, true, 5, 7, 13, transposed);
    add({67, 3}, true, 4, 41, 37, transposed, {}, DType::f32, true);
    add({67, 3}, false, 4, 48, 36, transposed, {.first = 2, .last = 2});
    add({61, 2}, false, 3, 72, 20, transposed, {.first = 1});
    add({131, 2}, true, 29, 12, 100, transposed);
    add({1, 8}, true, 31, 96, 56, transposed, {}, DType::f32, true);
    add({3, 2}, false, 5, 36, 1030, transposed);
    list.back().spared = {"tile32"};  // for "vector", which cuts long rows up
    add({67, 1}, true, 4, 19, 67, transposed);
  }
  // 16-bit weights: whole quads in one type, odd rows in the other; few pairs as a generator has them.
  add({61, 2}, false, 3, 72, 20, true, {}, DType::f16);
  add({61, 2}, false, 3, 72, 20, false, {}, DType::bf16);
  add({67, 3}, true, 7, 42, 37, false, {}, DType::f16);
  add({67, 3}, true, 7, 42, 37, true, {}, DType::bf16);
  add({1, 8}, true, 31, 96, 56, true, {}, DType::f16);
  add({2, 2}, false, 5, 42, 37, true, {}, DType::bf16);
  // Encoded blocks; q8_0 proves the gradients.
  add({61, 2}, false, 3, 72, 96, true, {}, DType::q8_0);
  add({61, 2}, false, 3, 64, 20, false, {}, DType::q8_0);
  for (const DType type : block_types) {
    if (type == DType::q8_0) continue;
    add({61, 2}, true, 3, 19, 256, true, {}, type);
    list.back().inputs[0].constant = true;
  }
  add({1, 8}, true, 31, 35, 256, true, {}, DType::q4_k);
  list.back().inputs[0].constant = true;
  // On matrix cores: odd columns, several blocks, an end of K that is no whole slice.
  const auto add_halves = [&](const Shape& chosen, bool by_token, int64_t experts, int64_t n, int64_t k, DType type,
                              Chosen among = {}, bool bias = false) {
    add(chosen, by_token, experts, n, k, true, among, type, bias);
    for (CaseInput& input : list.back().inputs) input.constant = true;
    list.back().inputs[0].type.dtype = is_half(type) ? type : DType::f16;
    set_for_matrix_cores(list.back().attributes);
  };
  add_halves({67, 3}, true, 5, 75, 72, DType::f16, {}, true);
  add_halves({131, 2}, false, 3, 64, 200, DType::f16, {.first = 1});
  add_halves({67, 3}, false, 4, 130, 72, DType::bf16);
  for (const DType type : block_types) add_halves({67, 2}, true, 3, 75, 256, type, {}, type == DType::mxfp4);
  return list;
}

Cost cost(const Node& node) {
  const ExpertProblem p = expert_problem(node);
  const double rows = static_cast<double>(node.in(0).elements() + node.out(0).elements());
  const auto read = static_cast<double>(node.input_types[1].bytes() / p.experts * std::min(p.experts, p.pairs));
  return {.bytes = 4 * rows + read, .flops = 2 * static_cast<double>(p.pairs * p.n * p.k)};
}

// --- expert_matmul_backward: a, b, chosen -> y [E, M, N], the sum of a^T b over each expert's pairs ---

Types infer_backward(const Node& node) {
  check_chosen(node);
  is_by_token(node, 0);
  is_by_token(node, 1);
  const ExpertProblem p = expert_problem(node);
  check(p.experts >= 1, "[expert_matmul_backward] there are {} experts", p.experts);
  return {{Shape{p.experts, p.m, p.n}}};
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const ExpertProblem p = expert_problem(node);
  const HostTensor &a = *in[0], &b = *in[1], &chosen = *in[2];
  for (int64_t pair = 0; pair < p.pairs; ++pair) {
    const int64_t expert = static_cast<int64_t>(chosen[pair]), token = pair / p.slots;
    for (int64_t i = 0; i < p.m * p.n; ++i)
      out[0][expert * p.m * p.n + i] +=
          a[(p.a_by_token ? token : pair) * p.m + i / p.n] * b[(p.b_by_token ? token : pair) * p.n + i % p.n];
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  const auto add = [&](const Shape& chosen, bool a_by_token, bool b_by_token, int64_t experts, int64_t m, int64_t n,
                       Chosen among = {}) {
    const auto rows = [&](bool by_token, int64_t columns) {
      return by_token ? chosen.with_columns(columns) : append(chosen, columns);
    };
    list.push_back({.inputs = {{.type = {rows(a_by_token, m)}},
                               {.type = {rows(b_by_token, n)}},
                               chosen_of(chosen, experts, among)},
                    .attributes = {{"experts", static_cast<double>(experts)}},
                    .reduction = chosen.elements()});
  };
  add({1, 1}, false, true, 1, 1, 1);
  add({2, 3, 2}, false, true, 5, 7, 13);
  add({67, 3}, true, false, 7, 41, 37);
  add({67, 3}, false, false, 7, 48, 36, {.first = 2, .last = 2});
  add({61, 2}, false, false, 3, 72, 20, {.first = 1});
  add({131, 2}, false, true, 29, 12, 100);
  add({67, 1}, true, true, 4, 19, 67);
  return list;
}

Cost cost_backward(const Node& node) {
  const ExpertProblem p = expert_problem(node);
  const double moved = static_cast<double>(node.in(0).elements() + node.in(1).elements() + node.out(0).elements());
  return {.bytes = 4 * moved, .flops = 2 * static_cast<double>(p.pairs * p.m * p.n)};
}

const Op expert_matmul_op = {.name = "expert_matmul",
                             .infer = infer,
                             .record = record_experts,
                             .gradient = gradient,
                             .reference = reference,
                             .cases = cases,
                             .cost = cost,
                             .candidates = expert_candidates,
                             .room = expert_room,
                             .scratch = expert_scratch,
                             .half_inputs = 0b11,
                             .block_inputs = 0b10};

const Op expert_matmul_backward_op = {.name = "expert_matmul_backward",
                                      .infer = infer_backward,
                                      .record = record_experts,
                                      .reference = reference_backward,
                                      .cases = cases_backward,
                                      .cost = cost_backward,
                                      .candidates = expert_candidates,
                                      .room = expert_room,
                                      .scratch = expert_scratch};

}  // namespace

ExpertProblem expert_problem(const Node& node) {
  ExpertProblem p{.pairs = node.in(2).elements(),
                  .slots = node.in(2).columns(),
                  .backward = is_backward(node),
                  .a_by_token = is_by_token(node, 0)};
  if (p.backward) {
    p.b_by_token = is_by_token(node, 1);
    p.experts = node.integer("experts");
    p.m = node.in(0).columns();
    p.n = node.in(1).columns();
    return p;
  }
  p.a_type = node.input_types[0].dtype;
  p.b_type = node.input_types[1].dtype;
  p.transpose_b = node.flag("transposed");
  p.experts = node.in(1)[0];
  p.has_bias = node.has_input(expert_bias);
  p.n = node.in(1)[p.transpose_b ? 1 : 2];
  p.k = node.in(0).columns();
  return p;
}

void set_for_matrix_cores(Attributes& attributes) { attributes.set(for_matrix_cores, 1); }

DType matrix_expert_type(const Node& node, const DeviceFacts& facts) {
  if (node.op != &expert_matmul_op || node.input_types[0].dtype != DType::f32) return DType::f32;
  const DType weight = node.input_types[1].dtype, type = is_blocks(weight) ? DType::f16 : weight;
  const ExpertProblem p = expert_problem(node);
  constexpr int64_t fewest = 64;  // as of other products: few rows, as in decoding, stay as they are
  const bool pays = !facts.is_cpu() && p.pairs / p.slots >= fewest && p.n >= fewest && p.k >= fewest;
  if (!is_half(type) || !pays) return DType::f32;
  Node rounded = node;
  rounded.input_types[0].dtype = type;
  set_for_matrix_cores(rounded.attributes);
  return expert_candidates(rounded, facts).empty() ? DType::f32 : type;
}

Value expert_matmul(Graph& graph, Value x, Value weight, Value chosen, bool transposed, Value bias) {
  return graph.apply(expert_matmul_op, {x, weight, chosen, bias}, {{"transposed", transposed ? 1.0 : 0.0}});
}

bool is_expert_matmul(const Node& node) { return node.op == &expert_matmul_op; }

}  // namespace vkformer

VKFORMER_OPS(expert_matmul, &vkformer::expert_matmul_op, &vkformer::expert_matmul_backward_op)
