#include "shaders/log_likelihood/log_likelihood.h"

#include <algorithm>
#include <cmath>

#include "shaders/common/rows.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/cross_entropy/row_losses.h"
#include "shaders/log_likelihood/log_likelihood.args.h"

namespace vkformer {

namespace {

extern const Op log_likelihood_backward_op;

void check_sequences(const Node& node) {
  check_loss_inputs(node);
  check(node.in(0).rank() == 3, "[{}] logits is {}, needs [B, T, V]", node.op->name, node.in(0).to_string());
}

// --- log_likelihood: logits, targets -> log_likelihood, log_sum_exp ---

Types infer(const Node& node) {
  check_sequences(node);
  return {{Shape{node.in(0)[0]}}, {Shape{node.in(0).rows()}}};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::stream, node.input_types[0].dtype);
}

int64_t scratch(const Node& node, const DeviceFacts&, std::string_view) {
  return node.in(0).rows() * size_of(DType::f32);
}

void record(Recorder& recorder, const Node& node) {
  const int64_t sequences = node.in(0)[0], positions = node.in(0)[1];
  const Region likelihood = recorder.region(node.outputs[0]);
  const Region row_loss =
      recorder.scratch_region(0, static_cast<uint64_t>(sequences * positions * size_of(DType::f32)));
  record_row_losses(recorder, node, recorder.region(node.outputs[1]), row_loss);

  const Rows one_each{.count = static_cast<uint>(sequences), .per_group = 1};
  Launch sum = row_launch(recorder, "sequence_sum", RowUse::stream, one_each, positions, {});
  sum.variant = sum.subgroup_size > 0 ? "subgroup" : "workgroup";
  sum.constants.resize(1);  // any number of positions runs the same code
  sum.reads = {row_loss};
  sum.writes = {likelihood};
  const auto rows = static_cast<double>(sequences * positions);
  sum.cost = {.bytes = 4 * rows, .flops = rows};
  recorder.dispatch(sum, SequenceSumArgs{.row_loss = row_loss.address,
                                         .log_likelihood = likelihood.address,
                                         .rows = one_each,
                                         .positions = static_cast<uint>(positions)});
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  check(!upstream[1], "[log_likelihood] only the likelihoods are differentiable");
  if (!upstream[0]) return {Value{}, Value{}};
  return {graph.apply(log_likelihood_backward_op, {node.inputs[0], node.inputs[1], node.outputs[1], upstream[0]},
                      node.attributes),
          Value{}};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t positions = node.in(0)[1], columns = node.in(0).columns();
  for (int64_t r = 0; r < node.in(0).rows(); ++r) {
    const double* logits = in[0]->data.data() + r * columns;
    const double target = (*in[1])[first_target(node) + r];
    out[1][r] = log_sum_exp_of(logits, loss_classes(node));
    if (is_counted(node, target)) out[0][r / positions] += logits[static_cast<int64_t>(target)] - out[1][r];
  }
}

Case case_of(Shape logits, double lowest_target, double highest_target, double ignored, DType dtype = DType::f32,
             int64_t classes = 0, double first = all_rows) {
  if (classes == 0) classes = logits.columns();
  const Shape targets = first >= 0 ? Shape{3, 17} : Shape{logits[0], logits[1]};
  return {.inputs = {{.type = {logits, dtype}, .low = -3, .high = 3},
                     {.type = {targets, DType::i32}, .low = lowest_target, .high = highest_target}},
          .attributes = {{"label_smoothing", 0.0},
                         {"ignore_index", ignored},
                         {"classes", static_cast<double>(classes)},
                         {first_row, first}},
          .reduction = std::max(logits[1], logits.columns())};
}

std::vector<Case> cases() {
  return {
      case_of({1, 1, 64}, 0, 63, -100),
      case_of({5, 13, 64}, -1, 64, -1),  // both ends out of range
      case_of({2, 515, 7}, 0, 6, 3),     // longer than a workgroup takes at once
      case_of({3, 5, 130}, 0, 129, 0, DType::bf16),
      case_of({7, 11, 7}, -1, 7, 3, DType::f16),
      case_of({3, 5, 130}, 0, 125, 0, DType::f32, 124),     // more columns than classes
      case_of({2, 17, 7}, 0, 6, 3, DType::f32, 0, 17),      // whole sequences behind others
      case_of({1, 9, 130}, -1, 129, 0, DType::f32, 0, 21),  // a part of one
  };
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements()), rows = static_cast<double>(node.in(0).rows());
  return {.bytes = static_cast<double>(node.input_types[0].bytes()) + 16 * rows, .flops = 4 * elements};
}

// --- log_likelihood_backward: logits, targets, log_sum_exp, upstream [B] -> dlogits ---

Types infer_backward(const Node& node) {
  check_sequences(node);
  check(node.in(2) == Shape{node.in(0).rows()} && node.in(3) == Shape{node.in(0)[0]},
        "[log_likelihood_backward] log_sum_exp is {} and upstream {}, logits is {}", node.in(2).to_string(),
        node.in(3).to_string(), node.in(0).to_string());
  return {node.input_types[0]};
}

void record_backward(Recorder& recorder, const Node& node) {
  record_logits_gradient(recorder, node, {.upstream = recorder.address(node.inputs[3]), .positions = node.in(0)[1]});
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const int64_t positions = node.in(0)[1], columns = node.in(0).columns();
  for (int64_t r = 0; r < node.in(0).rows(); ++r) {
    const double target = (*in[1])[first_target(node) + r];
    if (!is_counted(node, target)) continue;
    for (int64_t c = 0; c < loss_classes(node); ++c) {
      const double p = std::exp((*in[0])[r * columns + c] - (*in[2])[r]);
      out[0][r * columns + c] = ((static_cast<double>(c) == target ? 1 : 0) - p) * (*in[3])[r / positions];
    }
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list = cases();
  for (Case& one : list) {
    const Shape logits = one.inputs[0].type.shape;  // of its own: inputs are added
    one.inputs.push_back({.type = {Shape{logits.rows()}}, .low = 3, .high = 5});
    one.inputs.push_back({.type = {Shape{logits[0]}}, .low = -2, .high = 2});
    one.reduction = 1;
  }
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements()), rows = static_cast<double>(node.in(0).rows());
  return {.bytes = 2 * static_cast<double>(node.input_types[0].bytes()) + 8 * rows, .flops = 4 * elements};
}

const Op log_likelihood_op = {.name = "log_likelihood",
                              .infer = infer,
                              .record = record,
                              .gradient = gradient,
                              .reference = reference,
                              .cases = cases,
                              .cost = cost,
                              .candidates = candidates,
                              .room = row_room,
                              .scratch = scratch,
                              .half_inputs = 0b1};

const Op log_likelihood_backward_op = {.name = "log_likelihood_backward",
                                       .infer = infer_backward,
                                       .record = record_backward,
                                       .reference = reference_backward,
                                       .cases = cases_backward,
                                       .cost = cost_backward,
                                       .candidates = logits_gradient_candidates,
                                       .room = row_room,
                                       .half_inputs = 0b1,
                                       .in_place = true};

}  // namespace

Value log_likelihood(Graph& graph, Value logits, Value targets, int64_t ignore_index, int64_t classes) {
  if (classes == 0) classes = graph.shape(logits).columns();
  return graph.add(log_likelihood_op, {logits, targets},
                   {{"label_smoothing", 0.0},
                    {"ignore_index", static_cast<double>(ignore_index)},
                    {"classes", static_cast<double>(classes)},
                    {first_row, all_rows}})[0];
}

bool is_log_likelihood(const Node& node) { return node.op == &log_likelihood_op; }
bool is_log_likelihood_backward(const Node& node) { return node.op == &log_likelihood_backward_op; }

}  // namespace vkformer

VKFORMER_OPS(log_likelihood, &vkformer::log_likelihood_op, &vkformer::log_likelihood_backward_op)
