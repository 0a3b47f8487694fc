#include "shaders/router/router.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "runtime/recorder.h"
#include "shaders/router/router.args.h"

namespace vkformer {

namespace {

extern const Op router_backward_op;

Attributes rule_attributes(const RouterRule& rule) {
  return {{"count", static_cast<double>(rule.count)},
          {"normalised", rule.normalised ? 1.0 : 0.0},
          {"sigmoid", rule.sigmoid ? 1.0 : 0.0},
          {"epsilon", rule.epsilon}};
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

// --- router: logits, bias or none -> weights, chosen ---

constexpr size_t bias_input = 1;

Types infer(const Node& node) {
  const Shape& logits = node.in(0);
  const int64_t count = node.integer("count");
  check(node.input_types[0].dtype == DType::f32 && logits.rank() >= 1 && logits.elements() > 0,
        "[router] logits is {} {}, needs f32 [.., E]", name_of(node.input_types[0].dtype), logits.to_string());
  check(logits.columns() <= most_experts, "[router] {} experts; at most {} can be chosen from", logits.columns(),
        most_experts);
  check(count >= 1 && count <= logits.columns(), "[router] {} of {} experts are to be chosen", count, logits.columns());
  if (node.has_input(bias_input))
    check((node.flag("sigmoid") || node.flag("normalised")) &&
              node.input_types[bias_input] == TensorType{{logits.columns()}},
          "[router] bias is {}, needs f32 [{}], of sigmoids or normalised weights", node.in(bias_input).to_string(),
          logits.columns());
  check(logits.elements() < int64_t{1} << 31, "[router] logits is {}; kernels address at most 2^31 - 1 elements",
        logits.to_string());
  return {{logits.with_columns(count)}, {logits.with_columns(count), DType::i32}};
}

/// Of a CPU one subgroup, whose lanes walk the row; of a GPU an invocation for each expert, where that is legal.
uint32_t threads_of(const DeviceFacts& facts, int64_t experts) {
  if (facts.is_cpu()) return std::max(facts.subgroup_size, 4u);
  return std::clamp(std::bit_ceil(static_cast<uint32_t>(experts)), 32u, std::min(facts.max_workgroup_size, 256u));
}

uint32_t room_of(int64_t experts) { return std::bit_ceil(std::max(static_cast<uint32_t>(experts), 64u)); }

void record(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const int64_t rows = node.in(0).rows(), experts = node.in(0).columns();
  const uint64_t weights = recorder.address(node.outputs[0]), chosen = recorder.address(node.outputs[1]);
  recorder.dispatch({.kernel = "router",
                     .constants = {threads_of(facts, experts), room_of(experts), node.flag("normalised"),
                                   node.flag("sigmoid"), node.has_input(bias_input)},
                     .groups = spread_groups(facts, static_cast<uint64_t>(rows))},
                    RouterArgs{.logits = recorder.address(node.inputs[0]),
                               .bias = node.has_input(bias_input) ? recorder.address(node.inputs[bias_input]) : 0,
                               .weights = weights,
                               .chosen = chosen,
                               .rows = static_cast<uint>(rows),
                               .experts = static_cast<uint>(experts),
                               .count = static_cast<uint>(node.integer("count")),
                               .outputs = (weights ? 1u : 0u) | (chosen ? 2u : 0u),
                               .epsilon = static_cast<float>(node.number("epsilon"))});
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {Value{}, Value{}};
  return {
      graph.apply(router_backward_op, {upstream[0], node.inputs[0], node.outputs[0], node.outputs[1]}, node.attributes),
      Value{}};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const HostTensor &logits = *in[0], *bias = in[bias_input];
  const int64_t experts = node.in(0).columns(), count = node.integer("count");
  const bool normalised = node.flag("normalised"), sigmoid = node.flag("sigmoid");
  std::vector<int64_t> order(static_cast<size_t>(experts));
  for (int64_t row = 0; row < node.in(0).rows(); ++row) {
    const auto logit = [&](int64_t expert) { return logits[row * experts + expert]; };
    std::iota(order.begin(), order.end(), 0);
    const auto weight = [&](int64_t expert) { return sigmoid ? sigmoid_of(logit(expert)) : std::exp(logit(expert)); };
    double all = sigmoid ? 1 : 0;
    for (int64_t e = 0; e < experts && !sigmoid; ++e) all += weight(e);
    const auto score = [&](int64_t expert) { return weight(expert) / all + (bias ? (*bias)[expert] : 0); };
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score(a) > score(b); });
    double sum = node.number("epsilon");
    for (int64_t i = 0; i < (normalised ? count : experts); ++i) sum += weight(order[static_cast<size_t>(i)]);
    if (sigmoid && !normalised) sum = 1;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t expert = order[static_cast<size_t>(i)];
      out[0][row * count + i] = weight(expert) / sum;
      out[1][row * count + i] = static_cast<double>(expert);
    }
  }
}

// Logits so far apart that finite differences hardly ever change what is chosen; where many rows make that likely, only
// the forward and the backward kernel are compared with the reference.
std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](Shape logits, int64_t count, bool normalised, double low = -8, double high = 8) {
    list.push_back({.inputs = {{.type = {logits}, .low = low, .high = high, .constant = logits.rows() > 16},
                               {.type = {{logits.columns()}}, .absent = true, .constant = true}},
                    .attributes = rule_attributes({count, normalised}),
                    .reduction = logits.columns()});
  };
  for (const bool normalised : {false, true}) {
    add({1, 1}, 1, normalised);
    add({2, 3, 7}, 2, normalised);
    add({5, 7}, 7, normalised);
    add({3, 61}, 1, normalised);
    add({131, 61}, 8, normalised);
    add({2, 257}, 8, normalised);
  }
  add({3, 61}, 5, true, 0.5, 0.5);  // equal ones
  list.back().inputs[0].constant = true;
  add({3, 7}, 2, false, -60, 60);  // exponentials of very unlike sizes
  const auto add_sigmoids = [&](Shape logits, int64_t count, bool normalised, double epsilon, bool bias) {
    add(logits, count, normalised, -3, 3);
    list.back().inputs[bias_input].absent = !bias;
    list.back().attributes = rule_attributes({count, normalised, true, epsilon});
  };
  add_sigmoids({2, 3, 7}, 2, true, 0, false);
  add_sigmoids({3, 61}, 5, false, 0, true);
  add_sigmoids({131, 61}, 8, true, 0.125, true);
  add_sigmoids({2, 257}, 8, true, 0, true);
  for (const Shape& logits : {Shape{2, 3, 7}, Shape{131, 61}, Shape{2, 257}}) {
    add(logits, 2, true, -3, 3);  // a softmax with a bias
    list.back().inputs[bias_input].absent = false;
  }
  return list;
}

Cost cost(const Node& node) {
  const auto logits = static_cast<double>(node.in(0).elements()), weights = static_cast<double>(node.out(0).elements());
  return {.bytes = 4 * logits + 8 * weights, .flops = 3 * logits};
}

// --- router_backward: upstream, logits, weights, chosen -> dlogits ---

Types infer_backward(const Node& node) {
  const int64_t count = node.integer("count");
  const Shape picked = node.in(1).with_columns(count);
  check(node.in(0) == picked && node.in(2) == picked && node.input_types[3] == TensorType{picked, DType::i32},
        "[router_backward] upstream is {}, logits {}, weights {}, chosen {}", node.in(0).to_string(),
        node.in(1).to_string(), node.in(2).to_string(), node.in(3).to_string());
  return {{node.in(1)}};
}

void record_backward(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const int64_t elements = node.out(0).elements();
  const uint32_t threads = facts.is_cpu() ? std::max(facts.subgroup_size, 4u) : 64;
  recorder.dispatch({.kernel = "router_backward",
                     .constants = {threads, node.flag("normalised"), node.flag("sigmoid")},
                     .groups = spread_groups(facts, groups_for(elements, threads))},
                    RouterBackwardArgs{.upstream = recorder.address(node.inputs[0]),
                                       .logits = recorder.address(node.inputs[1]),
                                       .weights = recorder.address(node.inputs[2]),
                                       .chosen = recorder.address(node.inputs[3]),
                                       .dlogits = recorder.address(node.outputs[0]),
                                       .elements = static_cast<uint>(elements),
                                       .experts = static_cast<uint>(node.in(1).columns()),
                                       .count = static_cast<uint>(node.integer("count"))});
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const HostTensor &upstream = *in[0], &logits = *in[1], &weights = *in[2], &chosen = *in[3];
  const int64_t experts = node.in(1).columns(), count = node.integer("count");
  for (int64_t row = 0; row < node.in(1).rows(); ++row) {
    const int64_t first = row * count;
    double mean = 0;
    for (int64_t i = first; i < first + count; ++i) mean += weights[i] * upstream[i];
    if (node.flag("sigmoid")) {
      if (!node.flag("normalised")) mean = 0;
      for (int64_t i = first; i < first + count; ++i) {
        const int64_t at = row * experts + static_cast<int64_t>(chosen[i]);
        out[0][at] += weights[i] * (1 - sigmoid_of(logits[at])) * (upstream[i] - mean);
      }
      continue;
    }
    const double peak = logits[row * experts + static_cast<int64_t>(chosen[first])];
    for (int64_t e = 0; e < experts && !node.flag("normalised"); ++e)
      out[0][row * experts + e] = -mean * weights[first] * std::exp(logits[row * experts + e] - peak);
    for (int64_t i = first; i < first + count; ++i) {
      const double centred = node.flag("normalised") ? upstream[i] - mean : upstream[i];
      out[0][row * experts + static_cast<int64_t>(chosen[i])] += weights[i] * centred;
    }
  }
}

// One is chosen of each row: random numbers may name an expert twice, which a router never does.
std::vector<Case> cases_backward() {
  std::vector<Case> list;
  for (const auto& [normalised, sigmoid] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}})
    for (const Shape& logits : {Shape{1, 1}, Shape{2, 3, 7}, Shape{131, 61}, Shape{2, 257}}) {
      const double last = static_cast<double>(logits.columns() - 1);
      list.push_back({.inputs = {{.type = {logits.with_columns(1)}},
                                 {.type = {logits}},
                                 {.type = {logits.with_columns(1)}, .low = 0.1, .high = 0.9},
                                 {.type = {logits.with_columns(1), DType::i32}, .low = 0, .high = last}},
                      .attributes = rule_attributes({1, normalised, sigmoid})});
    }
  return list;
}

Cost cost_backward(const Node& node) {
  const auto logits = static_cast<double>(node.in(1).elements()), weights = static_cast<double>(node.in(0).elements());
  return {.bytes = 8 * logits + 12 * weights, .flops = 3 * logits};
}

const Op router_op = {.name = "router",
                      .infer = infer,
                      .record = record,
                      .gradient = gradient,
                      .reference = reference,
                      .cases = cases,
                      .cost = cost};

const Op router_backward_op = {.name = "router_backward",
                               .infer = infer_backward,
                               .record = record_backward,
                               .reference = reference_backward,
                               .cases = cases_backward,
                               .cost = cost_backward};

}  // namespace

bool is_router(const Node& node) { return node.op == &router_op; }

Routing router(Graph& graph, Value logits, const RouterRule& rule, Value bias) {
  const Values outputs = graph.add(router_op, {logits, bias}, rule_attributes(rule));
  return {outputs[0], outputs[1]};
}

}  // namespace vkformer

VKFORMER_OPS(router, &vkformer::router_op, &vkformer::router_backward_op)
