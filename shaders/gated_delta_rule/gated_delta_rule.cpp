#include "shaders/gated_delta_rule/gated_delta_rule.h"

#include <cmath>

#include "shaders/gated_delta_rule/delta_sizes.h"

namespace vkformer {

namespace {

// --- gated_delta_rule: x, gates, texts, skip -> y;
// --- continued_delta_rule: state, x, gates, texts, skip, position -> state, y ---

Types infer(const Node& node) {
  check_delta_inputs(node, 0);
  return {{DeltaProblem(node).y()}};
}

Types infer_continued(const Node& node) {
  check_delta_inputs(node, 1);
  const DeltaProblem p(node, 1);
  const Shape state{p.batches, p.heads.values(), p.heads.key_width};
  check(node.input_types[0] == TensorType{state}, "[continued_delta_rule] state is {} {}, needs f32 {}",
        name_of(node.input_types[0].dtype), node.in(0).to_string(), state.to_string());
  check(
      node.input_types[5] == TensorType{{1}, DType::i32} || node.input_types[5] == TensorType{{p.batches}, DType::i32},
      "[continued_delta_rule] position is {}, it must be i32 [1] or [{}]", node.in(5).to_string(), p.batches);
  check(state.elements() < int64_t{1} << 31, "[continued_delta_rule] state is {}; kernels address at most 2^31 - 1",
        state.to_string());
  return {{state}, {p.y()}};
}

void record(Recorder& recorder, const Node& node) {
  const DeltaProblem p(node);
  recorder.dispatch(delta_launch(recorder, "gated_delta_rule", p, p.value_lines(2)),
                    DeltaRuleArgs{.x = recorder.address(node.inputs[0]),
                                  .gates = recorder.address(node.inputs[1]),
                                  .texts = delta_optional(recorder, node, 2, 1).address,
                                  .skip = delta_optional(recorder, node, 3, 1).address,
                                  .y = recorder.address(node.outputs[0]),
                                  .sizes = p.sizes(node.has_input(2), node.has_input(3)),
                                  .outputs = 1});
}

void record_continued(Recorder& recorder, const Node& node) {
  const DeltaProblem p(node, 1);
  const uint64_t y = recorder.address(node.outputs[1]);
  recorder.dispatch(delta_launch(recorder, "gated_delta_rule", p, p.value_lines(2),
                                 recorder.candidate() == "subgroup" ? "subgroup_on" : "workgroup_on"),
                    DeltaRuleArgs{.x = recorder.address(node.inputs[1]),
                                  .gates = recorder.address(node.inputs[2]),
                                  .texts = delta_optional(recorder, node, 3, 2).address,
                                  .skip = delta_optional(recorder, node, 4, 2).address,
                                  .y = y,
                                  .state = recorder.address(node.inputs[0]),
                                  .position = recorder.address(node.inputs[5]),
                                  .sizes = p.sizes(node.has_input(3), node.has_input(4)),
                                  .own_positions = node.in(5)[0] > 1,
                                  .outputs = y ? 1u : 0u});
}

/// One head of one row, step by step, over its state [Dv, Dk].
void run_head(const DeltaProblem& p, int64_t b, int64_t h, const HostTensor& x, const HostTensor& gates,
              const HostTensor* texts, const HostTensor* skip, std::span<double> state, HostTensor& y) {
  const DeltaHeads& heads = p.heads;
  const int64_t Dk = heads.key_width, Dv = heads.value_width;
  const auto [query, key, value] = delta_columns(heads, h);
  for (int64_t t = 0; t < p.positions; ++t) {
    const int64_t row = b * p.positions + t, from = row * heads.columns();
    const double text = texts ? (*texts)[row] : 1;
    if (text == 0) continue;
    if (texts && t > 0 && (*texts)[row - 1] != text) std::ranges::fill(state, 0);
    const double beta = gates[row * 2 * heads.heads + h], decay = std::exp(gates[(row * 2 + 1) * heads.heads + h]);
    for (int64_t j = 0; j < Dv; ++j) {
      double* column = &state[static_cast<size_t>(j * Dk)];
      double read = 0, result = 0;
      for (int64_t i = 0; i < Dk; ++i) {
        column[i] *= decay;
        read += column[i] * x[from + key + i];
      }
      const double own = x[from + value + j], correction = heads.corrects ? own - read : own;
      for (int64_t i = 0; i < Dk; ++i) {
        column[i] += beta * correction * x[from + key + i];
        result += column[i] * x[from + query + i];
      }
      y[row * heads.values() + h * Dv + j] = result + (skip ? (*skip)[h] * own : 0);
    }
  }
}

void reference(const Node& node, Inputs in, Outputs out) {
  const DeltaProblem p(node);
  for (int64_t b = 0; b < p.batches; ++b)
    for (int64_t h = 0; h < p.heads.heads; ++h) {
      std::vector<double> state(static_cast<size_t>(p.heads.key_width * p.heads.value_width), 0);
      run_head(p, b, h, *in[0], *in[1], node.has_input(2) ? in[2] : nullptr, node.has_input(3) ? in[3] : nullptr, state,
               out[0]);
    }
}

void reference_continued(const Node& node, Inputs in, Outputs out) {
  const DeltaProblem p(node, 1);
  const auto size = static_cast<size_t>(p.heads.key_width * p.heads.value_width);
  for (int64_t b = 0; b < p.batches; ++b)
    for (int64_t h = 0; h < p.heads.heads; ++h) {
      const std::span<double> state(&out[0].data[static_cast<size_t>(b * p.heads.heads + h) * size], size);
      if ((*in[5])[node.in(5)[0] > 1 ? b : 0] == 0) std::ranges::fill(state, 0);
      run_head(p, b, h, *in[1], *in[2], node.has_input(3) ? in[3] : nullptr, node.has_input(4) ? in[4] : nullptr, state,
               out[1]);
    }
}

int64_t reduction_of(const DeltaCase& problem) { return problem.heads.key_width * problem.positions; }

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const DeltaCase& problem : delta_cases()) list.push_back(delta_case(problem, reduction_of(problem)));
  return list;
}

std::vector<Case> cases_continued() {
  std::vector<Case> list;
  for (const DeltaCase& problem : delta_cases())
    for (const bool own : {false, true}) {
      if (problem.positions > 20 && own) continue;
      const DeltaHeads& heads = problem.heads;
      Case next = delta_case(problem, reduction_of(problem));
      next.inputs.insert(next.inputs.begin(), {.type = {Shape{problem.batches, heads.values(), heads.key_width}}});
      next.inputs.push_back(
          {.type = {{own ? problem.batches : 1}, DType::i32}, .low = own ? 0.0 : 3, .high = own ? 1.0 : 3});
      list.push_back(next);
    }
  return list;
}

Cost cost_of(const DeltaProblem& p, double bytes) {
  return {.bytes = bytes,
          .flops = 8 * static_cast<double>(p.rows() * p.heads.heads * p.heads.key_width * p.heads.value_width)};
}

Cost cost(const Node& node) {
  return cost_of(DeltaProblem(node), static_cast<double>(node.input_types[0].bytes() + node.input_types[1].bytes() +
                                                         node.output_types[0].bytes()));
}

Cost cost_continued(const Node& node) {
  return cost_of(DeltaProblem(node, 1),
                 static_cast<double>(2 * node.input_types[0].bytes() + node.input_types[1].bytes() +
                                     node.output_types[1].bytes()));
}

const Op gated_delta_rule_op = {.name = "gated_delta_rule",
                                .infer = infer,
                                .record = record,
                                .gradient = delta_gradient,
                                .reference = reference,
                                .cases = cases,
                                .cost = cost,
                                .candidates = delta_candidates};

const Op continued_delta_rule_op = {.name = "continued_delta_rule",
                                    .infer = infer_continued,
                                    .record = record_continued,
                                    .reference = reference_continued,
                                    .cases = cases_continued,
                                    .cost = cost_continued,
                                    .candidates = delta_candidates,
                                    .aliases = {0, -1}};

}  // namespace

Value gated_delta_rule(Graph& graph, const GatedDeltaRule& of) {
  return graph.apply(gated_delta_rule_op, {of.x, of.gates, of.texts, of.skip}, DeltaProblem::attributes(of.heads));
}

Value continued_delta_rule(Graph& graph, const GatedDeltaRule& of, Value state, Value position) {
  return graph.add(continued_delta_rule_op, {state, of.x, of.gates, of.texts, of.skip, position},
                   DeltaProblem::attributes(of.heads))[1];
}

}  // namespace vkformer

VKFORMER_OPS(gated_delta_rule, &vkformer::gated_delta_rule_op, &vkformer::continued_delta_rule_op,
             &vkformer::gated_delta_rule_backward_op)
