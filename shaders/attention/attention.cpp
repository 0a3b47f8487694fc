#include "shaders/attention/attention.h"

#include <cmath>

#include "shaders/attention/attention_problem.h"
#include "shaders/attention/cached_attention.h"
#include "shaders/cast/cast.h"

namespace vkformer {

namespace {

// --- attention: q, k?, v?, position?, seed?, mask?, bias?, sinks? -> result [B, T, H * Dv] of their type, log_sum_exp
// [B, H, T] ---

constexpr uint32_t half_sources = 1u << attention_q | 1u << attention_k | 1u << attention_v;

Types infer(const Node& node) {
  check_attention(node);
  const AttentionProblem problem(node);
  return {{{problem.batches, problem.queries, problem.heads * problem.value_width}, problem.type},
          {{problem.batches, problem.heads, problem.queries}}};
}

Cost cost(const Node& node) {
  const AttentionProblem problem(node);
  const auto bytes = static_cast<double>(
      problem.batches *
      (size_of(problem.type) * problem.queries * (problem.q.width + problem.heads * problem.value_width) +
       size_of(problem.k.type) * problem.keys * (problem.k.width + problem.v.width)));
  return {.bytes = bytes,
          .flops = 2 * problem.visible_pairs() * static_cast<double>(problem.head_width + problem.value_width),
          .at_most = problem.has_position};
}

// --- attention_backward: the same, result, log_sum_exp, upstream -> a gradient for each of q, k, v, bias, sinks that
// is present ---

Types infer_backward(const Node& node) {
  check_attention(node);
  check_keys_apart(node);
  const AttentionProblem problem(node);
  check(!problem.mixed(), "[attention_backward] q is {}, k {}; cast them to one type", name_of(problem.type),
        name_of(problem.k.type));
  const Shape result{problem.batches, problem.queries, problem.heads * problem.value_width};
  const Shape log_sum_exp{problem.batches, problem.heads, problem.queries};
  check(node.in(attention_result) == result && node.in(attention_upstream) == result &&
            node.in(attention_log_sum_exp) == log_sum_exp,
        "[attention_backward] result is {}, log_sum_exp {}, upstream {}; they must be {}, {}, {}",
        node.in(attention_result).to_string(), node.in(attention_log_sum_exp).to_string(),
        node.in(attention_upstream).to_string(), result.to_string(), log_sum_exp.to_string(), result.to_string());
  for (const auto& [input, name] : {std::pair{attention_result, "result"}, {attention_upstream, "upstream"}})
    check(node.input_types[input].dtype == problem.type,
          "[attention_backward] {} is {}, q is {}; they must be of one type", name,
          name_of(node.input_types[input].dtype), name_of(problem.type));
  check(node.input_types[attention_log_sum_exp].dtype == DType::f32, "[attention_backward] log_sum_exp must be f32");
  Types types;
  for (size_t i : attention_differentiable)
    if (node.has_input(i)) types.push_back(node.input_types[i]);
  return types;
}

Cost cost_backward(const Node& node) {
  const AttentionProblem problem(node);
  const Cost forward = cost(node);
  return {.bytes = 2 * forward.bytes,
          .flops = problem.visible_pairs() * static_cast<double>(6 * problem.head_width + 4 * problem.value_width)};
}

const Op attention_backward_op{.name = "attention_backward",
                               .infer = infer_backward,
                               .record = attention_backward_record,
                               .reference = attention_backward_reference,
                               .cases = attention_backward_cases,
                               .cost = cost_backward,
                               .candidates = attention_backward_candidates,
                               .room = attention_backward_room,
                               .scratch = attention_backward_scratch,
                               .half_inputs = half_sources | 1u << attention_result | 1u << attention_upstream};

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  check(!upstream[1], "[attention] log_sum_exp is not differentiable");
  Values gradients(node.inputs.size());
  if (!upstream[0]) return gradients;
  Values inputs = node.inputs;
  const Value of_result = cast(graph, upstream[0], node.output_types[0].dtype);  // what a cast was made of has f32's
  inputs.insert(inputs.end(), {node.outputs[0], node.outputs[1], of_result});
  const Values of_sources = graph.add(attention_backward_op, std::move(inputs), node.attributes);
  size_t next = 0;
  for (size_t i : attention_differentiable)
    if (node.has_input(i)) gradients[i] = of_sources[next++];
  return gradients;
}

const Op attention_op{.name = "attention",
                      .infer = infer,
                      .record = attention_record,
                      .gradient = gradient,
                      .reference = attention_reference,
                      .cases = attention_cases,
                      .cost = cost,
                      .candidates = attention_candidates,
                      .room = attention_room,
                      .scratch = attention_scratch,
                      .half_inputs = half_sources};

// --- attention_weights: the inputs of attention, log_sum_exp -> weights [B, H, T, S] ---

Types infer_weights(const Node& node) {
  check_attention(node);
  const AttentionProblem problem(node);
  check(problem.k.type == DType::f32, "[attention_weights] k is {}; cast q, k and v to f32", name_of(problem.k.type));
  const Shape rows{problem.batches, problem.heads, problem.queries};
  check(node.in(attention_weights_log_sum_exp) == rows, "[attention_weights] log_sum_exp is {}, it must be {}",
        node.in(attention_weights_log_sum_exp).to_string(), rows.to_string());
  const Shape weights{problem.batches, problem.heads, problem.queries, problem.keys};
  check(weights.elements() < int64_t{1} << 31, "[attention_weights] the weights {} have 2^31 elements or more",
        weights.to_string());
  return {{weights}};
}

Cost cost_weights(const Node& node) {
  const AttentionProblem problem(node);
  return {.bytes = 4 * static_cast<double>(node.out(0).elements()),
          .flops = 2 * static_cast<double>(node.out(0).elements() * problem.head_width)};
}

const Op attention_weights_op{.name = "attention_weights",
                              .infer = infer_weights,
                              .record = attention_weights_record,
                              .reference = attention_weights_reference,
                              .cases = attention_weights_cases,
                              .cost = cost_weights};

bool apart(HeadColumns a, int64_t a_width, HeadColumns b, int64_t b_width) {
  return a.column + a_width <= b.column || b.column + b_width <= a.column;
}

}  // namespace

bool is_attention(const Node& node) { return node.op == &attention_op; }

bool looks_back(const Node& attention_node) {
  const AttentionProblem problem(attention_node);
  return problem.causal && !problem.has_position;
}

Value attention(Graph& graph, HeadColumns q, HeadColumns k, HeadColumns v, const AttentionOptions& options) {
  const int64_t kv_heads = options.kv_heads ? options.kv_heads : options.heads;
  const int64_t value_width = options.value_width ? options.value_width : options.head_width;
  const double scale =
      options.scale != 0 ? static_cast<double>(options.scale) : 1 / std::sqrt(static_cast<double>(options.head_width));
  const int64_t q_width = options.heads * options.head_width;
  const int64_t k_width = kv_heads * options.head_width, v_width = kv_heads * value_width;
  // An absent k or v means "in the tensor before". Columns that overlap are passed as if in separate tensors, so that
  // their gradients are separate and autodiff adds them.
  const bool v_in_k = v.value == k.value && apart(k, k_width, v, v_width);
  const bool k_in_q =
      k.value == q.value && apart(q, q_width, k, k_width) && !(v_in_k && !apart(q, q_width, v, v_width));
  return graph.apply(attention_op,
                     {q.value, k_in_q ? Value{} : k.value, v_in_k ? Value{} : v.value, options.position,
                      options.dropout > 0 ? options.seed : Value{}, options.mask, options.bias, options.sinks},
                     {{"heads", static_cast<double>(options.heads)},
                      {"kv_heads", static_cast<double>(kv_heads)},
                      {"head_width", static_cast<double>(options.head_width)},
                      {"value_width", static_cast<double>(value_width)},
                      {"scale", scale},
                      {"causal", options.causal ? 1.0 : 0.0},
                      {"dropout", static_cast<double>(options.dropout)},
                      {"stream", static_cast<double>(options.stream)},
                      {"window", static_cast<double>(options.window)},
                      {"softcap", static_cast<double>(options.softcap)},
                      {"q_column", static_cast<double>(q.column)},
                      {"k_column", static_cast<double>(k.column)},
                      {"v_column", static_cast<double>(v.column)}});
}

Value attention_weights(Graph& graph, const Node& attention_node) {
  check(attention_node.op == &attention_op, "[attention_weights] the node is not an attention");
  Values inputs = attention_node.inputs;
  inputs.resize(attention_inputs);
  inputs.push_back(attention_node.outputs[1]);
  const Attributes attributes = attention_node.attributes;
  return graph.apply(attention_weights_op, std::move(inputs), attributes);
}

}  // namespace vkformer

VKFORMER_OPS(attention, &vkformer::attention_op, &vkformer::attention_backward_op, &vkformer::attention_weights_op,
             &vkformer::cached_attention_op)
