#include "shaders/cross_entropy/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "shaders/common/rows.h"
#include "shaders/cross_entropy/cross_entropy.args.h"
#include "shaders/cross_entropy/row_losses.h"

namespace vkformer {

namespace {

extern const Op cross_entropy_backward_op;

// --- cross_entropy: logits, targets -> loss, log_sum_exp, count ---

Types infer(const Node& node) {
  check_loss_inputs(node);
  return {{Shape{1}}, {Shape{node.in(0).rows()}}, {Shape{1}}};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::stream, node.input_types[0].dtype);
}

int64_t scratch(const Node& node, const DeviceFacts&, std::string_view) {
  return node.in(0).rows() * size_of(DType::f32);
}

void record(Recorder& recorder, const Node& node) {
  const int64_t rows = node.in(0).rows(), all = node.in(1).elements();
  const Region targets = recorder.region(node.inputs[1]);
  const Region loss = recorder.region(node.outputs[0]), count = recorder.region(node.outputs[2]);
  const Region row_loss = recorder.scratch_region(0, static_cast<uint64_t>(rows * size_of(DType::f32)));
  record_row_losses(recorder, node, recorder.region(node.outputs[1]), row_loss);
  if (!loss.address && !count.address) return;

  Launch mean = row_launch(recorder, "cross_entropy_mean", RowUse::stream, {.count = 1, .per_group = 1}, all, {});
  mean.variant = mean.subgroup_size > 0 ? "subgroup" : "workgroup";
  mean.constants.resize(1);  // any number of rows runs the same code
  mean.reads = {targets, row_loss};
  mean.writes = {loss, count};
  mean.cost = {.bytes = 4.0 * static_cast<double>(all + rows), .flops = static_cast<double>(all)};
  recorder.dispatch(mean, CrossEntropyMeanArgs{.targets = targets.address,
                                               .row_loss = row_loss.address,
                                               .loss = loss.address,
                                               .count = count.address,
                                               .first = static_cast<uint>(first_target(node)),
                                               .rows = static_cast<uint>(rows),
                                               .all = static_cast<uint>(all),
                                               .classes = loss_classes(node),
                                               .ignore_index = ignored_index(node),
                                               .outputs = (loss.address ? 1u : 0u) | (count.address ? 2u : 0u)});
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  check(!upstream[1] && !upstream[2], "[cross_entropy] only the loss is differentiable");
  if (!upstream[0]) return {Value{}, Value{}};
  const Value dlogits =
      graph.apply(cross_entropy_backward_op,
                  {node.inputs[0], node.inputs[1], node.outputs[1], node.outputs[2], upstream[0]}, node.attributes);
  return {dlogits, Value{}};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns(), classes = loss_classes(node);
  const double smoothing = node.number("label_smoothing");
  const HostTensor& targets = *in[1];
  for (int64_t t = 0; t < targets.type.elements(); ++t) out[2][0] += is_counted(node, targets[t]) ? 1 : 0;
  for (int64_t r = 0; r < rows; ++r) {
    const double target = targets[first_target(node) + r];
    const double* logits = in[0]->data.data() + r * columns;
    out[1][r] = log_sum_exp_of(logits, classes);
    if (!is_counted(node, target)) continue;
    out[0][0] += (1 - smoothing) * (out[1][r] - logits[static_cast<int64_t>(target)]);
    for (int64_t c = 0; c < classes; ++c)
      out[0][0] += smoothing / static_cast<double>(classes) * (out[1][r] - logits[c]);
  }
  if (out[2][0] > 0) out[0][0] /= out[2][0];
}

Case case_of(Shape logits, double bound, double lowest_target, double highest_target, double ignored,
             double label_smoothing = 0, DType dtype = DType::f32, int64_t classes = 0, double first = all_rows,
             int64_t all = 0) {
  if (classes == 0) classes = logits.columns();
  Shape targets(logits.dimensions().first(static_cast<size_t>(logits.rank() - 1)));
  if (all > 0) targets = {all};
  return {.inputs = {{.type = {logits, dtype}, .low = -bound, .high = bound},
                     {.type = {targets, DType::i32}, .low = lowest_target, .high = highest_target}},
          .attributes = {{"label_smoothing", label_smoothing},
                         {"ignore_index", ignored},
                         {"classes", static_cast<double>(classes)},
                         {first_row, first}},
          .reduction = std::max(logits.rows(), logits.columns())};
}

std::vector<Case> cases() {
  return {
      case_of({1, 1}, 1, 0, 0, -100),
      case_of({3, 64}, 3, 0, 63, -100),
      case_of({67, 64}, 3, 0, 63, 0),
      case_of({3, 64}, 3, -100, -100, -100),  // all ignored
      case_of({7, 64}, 1e4, 0, 63, -100),
      case_of({2, 5, 64}, 3, -1, 64, -1),     // both ends out of range
      case_of({2, 5, 7}, 3, -1, 7, -1, 0.9),  // likewise
      case_of({1031, 7}, 3, 0, 6, 3, 0.1),
      case_of({67, 130}, 3, 0, 129, 0, 0.1),
      case_of({7, 7}, 1e4, 0, 6, -100, 0.25),
      case_of({2, 5003}, 3, 0, 5002, -100, 1),
      // Rows of whole words, and others.
      case_of({67, 130}, 3, 0, 129, 0, 0, DType::bf16),
      case_of({1031, 7}, 3, -1, 7, 3, 0.1, DType::f16),
      // More columns than classes.
      case_of({67, 64}, 3, 0, 57, 0, 0, DType::f32, 57),
      case_of({67, 130}, 3, 0, 125, 0, 0.1, DType::f32, 124),
      case_of({67, 130}, 3, 0, 125, 0, 0, DType::bf16, 125),
      // Some rows of a batch: in the middle, at the end.
      case_of({67, 130}, 3, 0, 129, 0, 0.1, DType::f32, 0, 64, 1031),
      case_of({67, 130}, 3, 0, 129, 0, 0, DType::bf16, 0, 4, 71),
  };
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements()), rows = static_cast<double>(node.in(0).rows());
  return {.bytes = static_cast<double>(node.input_types[0].bytes()) + 16 * rows, .flops = 4 * elements};
}

// --- cross_entropy_backward: logits, targets, log_sum_exp, count, upstream -> dlogits ---

Types infer_backward(const Node& node) {
  check_loss_inputs(node);
  check(node.in(2) == Shape{node.in(0).rows()}, "[cross_entropy_backward] log_sum_exp is {}, logits is {}",
        node.in(2).to_string(), node.in(0).to_string());
  check(node.in(3).elements() == 1 && node.in(4).elements() == 1,
        "[cross_entropy_backward] count is {} and upstream {}, both need [1]", node.in(3).to_string(),
        node.in(4).to_string());
  return {node.input_types[0]};
}

void record_backward(Recorder& recorder, const Node& node) {
  const auto in = [&](size_t i) { return recorder.address(node.inputs[i]); };
  record_logits_gradient(recorder, node, {.upstream = in(4), .count = in(3)});
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const int64_t columns = node.in(0).columns(), classes = loss_classes(node);
  const double smoothing = node.number("label_smoothing");
  for (int64_t r = 0; r < node.in(0).rows(); ++r) {
    const double target = (*in[1])[first_target(node) + r];
    const bool counted = is_counted(node, target);
    for (int64_t c = 0; c < classes; ++c) {
      const double p = std::exp((*in[0])[r * columns + c] - (*in[2])[r]);
      const double one_hot = static_cast<double>(c) == target ? 1 : 0;
      const double wanted = (1 - smoothing) * one_hot + smoothing / static_cast<double>(classes);
      out[0][r * columns + c] = counted ? (p - wanted) * (*in[4])[0] / (*in[3])[0] : 0;
    }
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list = cases();
  list.push_back(case_of({1031, 1}, 3, -1, 1, 3, 0, DType::f16));  // rows end more than once within a quad
  for (Case& one : list) {
    CaseInput& logits = one.inputs[0];
    // Probabilities stay near or below 1, as they are after the forward pass.
    logits.low = std::max(logits.low, -3.0);
    logits.high = std::min(logits.high, 3.0);
    one.inputs.push_back({.type = {Shape{logits.type.shape.rows()}}, .low = 3, .high = 5});
    one.inputs.push_back({.type = {Shape{1}}, .low = 1, .high = 9});
    one.inputs.push_back({.type = {Shape{1}}, .low = 0.5, .high = 2});
    one.reduction = 1;
  }
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  const auto rows = static_cast<double>(node.in(0).rows());
  return {.bytes = 2 * static_cast<double>(node.input_types[0].bytes()) + 8 * rows, .flops = 4 * elements};
}

const Op cross_entropy_op = {.name = "cross_entropy",
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

const Op cross_entropy_backward_op = {.name = "cross_entropy_backward",
                                      .infer = infer_backward,
                                      .record = record_backward,
                                      .reference = reference_backward,
                                      .cases = cases_backward,
                                      .cost = cost_backward,
                                      .candidates = logits_gradient_candidates,
                                      .room = row_room,
                                      .half_inputs = 0b1,
                                      .in_place = true};

Values add_cross_entropy(Graph& graph, Value logits, Value targets, double label_smoothing, int64_t ignore_index,
                         int64_t classes) {
  if (classes == 0) classes = graph.shape(logits).columns();
  return graph.add(cross_entropy_op, {logits, targets},
                   {{"label_smoothing", label_smoothing},
                    {"ignore_index", static_cast<double>(ignore_index)},
                    {"classes", static_cast<double>(classes)},
                    {first_row, all_rows}});
}

}  // namespace

Value cross_entropy(Graph& graph, Value logits, Value targets, double label_smoothing, int64_t ignore_index,
                    int64_t classes) {
  return add_cross_entropy(graph, logits, targets, label_smoothing, ignore_index, classes)[0];
}

// A number beyond the classes is no target; the sum is of every row.
Value log_sum_exp(Graph& graph, Value logits, Value numbers) {
  return add_cross_entropy(graph, logits, numbers, 0, -100, 0)[1];
}

bool is_cross_entropy(const Node& node) { return node.op == &cross_entropy_op; }
bool is_cross_entropy_backward(const Node& node) { return node.op == &cross_entropy_backward_op; }

}  // namespace vkformer

VKFORMER_OPS(cross_entropy, &vkformer::cross_entropy_op, &vkformer::cross_entropy_backward_op)
