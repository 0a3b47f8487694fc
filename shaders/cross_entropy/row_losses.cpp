#include "shaders/cross_entropy/row_losses.h"

#include <algorithm>
#include <cmath>

#include "shaders/common/rows.h"
#include "shaders/common/stream.h"
#include "shaders/cross_entropy/cross_entropy.args.h"
#include "shaders/cross_entropy/cross_entropy.h"

namespace vkformer {

namespace {

float label_smoothing(const Node& node) { return static_cast<float>(node.number("label_smoothing")); }

uint64_t targets_of(const Recorder& recorder, const Node& node) {
  return recorder.address(node.inputs[1]) + static_cast<uint64_t>(first_target(node) * size_of(DType::i32));
}

}  // namespace

void check_loss_inputs(const Node& node) {
  const Shape &logits = node.in(0), &targets = node.in(1);
  check(logits.rank() >= 1 && logits.columns() >= 1, "[{}] logits is {}, needs [.., V]", node.op->name,
        logits.to_string());
  check(node.input_types[0].dtype != DType::i32, "[{}] logits is i32, it must have floats", node.op->name);
  if (const int64_t first = node.integer(first_row); first >= 0) {
    check(first + logits.rows() <= targets.elements(),
          "[{}] logits {} from row {} on, targets is {}", node.op->name, logits.to_string(), first,
          targets.to_string());
  } else {
    const auto leading = logits.dimensions().first(static_cast<size_t>(logits.rank() - 1));
    check(std::ranges::equal(leading, targets.dimensions()), "[{}] targets is {}, logits is {}", node.op->name,
          targets.to_string(), logits.to_string());
  }
  check(node.input_types[1].dtype == DType::i32, "[{}] targets must be i32", node.op->name);
  const int64_t classes = node.integer("classes");
  check(classes >= 1 && classes <= logits.columns(), "[{}] {} classes, logits is {}", node.op->name, classes,
        logits.to_string());
  const double smoothing = node.number("label_smoothing");
  check(smoothing >= 0 && smoothing <= 1, "[{}] label_smoothing is {}, needs 0 to 1", node.op->name, smoothing);
}

int loss_classes(const Node& node) { return static_cast<int>(node.integer("classes")); }

int ignored_index(const Node& node) { return static_cast<int>(node.integer("ignore_index")); }

int64_t first_target(const Node& node) { return std::max<int64_t>(0, node.integer(first_row)); }

void record_row_losses(Recorder& recorder, const Node& node, const Region& log_sum_exp, const Region& row_loss) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns();
  const uint64_t logits = recorder.address(node.inputs[0]);
  const Rows shared = share_rows(recorder.device(), rows, columns);
  Launch launch =
      row_launch(recorder, "cross_entropy", RowUse::stream, shared, columns, {logits}, {label_smoothing(node) != 0});
  launch.writes = {log_sum_exp, row_loss};
  recorder.dispatch(launch, CrossEntropyArgs{.logits = logits,
                                             .targets = targets_of(recorder, node),
                                             .log_sum_exp = log_sum_exp.address,
                                             .row_loss = row_loss.address,
                                             .rows = shared,
                                             .classes = loss_classes(node),
                                             .ignore_index = ignored_index(node),
                                             .has_log_sum_exp = log_sum_exp.address != 0,
                                             .label_smoothing = label_smoothing(node)});
}

void record_logits_gradient(Recorder& recorder, const Node& node, const RowScale& scale) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns();
  const uint64_t logits = recorder.address(node.inputs[0]), dlogits = recorder.address(node.outputs[0]);
  const uint64_t targets = targets_of(recorder, node), log_sum_exp = recorder.address(node.inputs[2]);
  const auto positions = static_cast<uint32_t>(scale.positions);
  if (is_half(node.input_types[0].dtype)) {
    const Stream stream = stream_over(recorder.device(), rows * columns);
    recorder.dispatch(stream_launch(recorder, "cross_entropy_backward_flat", stream, {static_cast<uint32_t>(columns)}),
                      CrossEntropyBackwardFlatArgs{.logits = logits,
                                                   .targets = targets,
                                                   .log_sum_exp = log_sum_exp,
                                                   .count = scale.count,
                                                   .upstream = scale.upstream,
                                                   .dlogits = dlogits,
                                                   .stream = stream,
                                                   .classes = loss_classes(node),
                                                   .ignore_index = ignored_index(node),
                                                   .label_smoothing = label_smoothing(node),
                                                   .positions = positions});
    return;
  }
  const Rows shared = share_rows(recorder.device(), rows, columns);
  recorder.dispatch(row_launch(recorder, "cross_entropy_backward", RowUse::move, shared, columns, {logits, dlogits}),
                    CrossEntropyBackwardArgs{.logits = logits,
                                             .targets = targets,
                                             .log_sum_exp = log_sum_exp,
                                             .count = scale.count,
                                             .upstream = scale.upstream,
                                             .dlogits = dlogits,
                                             .rows = shared,
                                             .classes = loss_classes(node),
                                             .ignore_index = ignored_index(node),
                                             .label_smoothing = label_smoothing(node),
                                             .positions = positions});
}

std::vector<std::string_view> logits_gradient_candidates(const Node& node, const DeviceFacts& facts) {
  if (is_half(node.input_types[0].dtype)) return typed_stream_candidates(node, facts);
  return row_candidates(facts, node.in(0).columns(), RowUse::move);
}

bool is_counted(const Node& node, double target) {
  return target >= 0 && target < loss_classes(node) && target != node.number("ignore_index");
}

double log_sum_exp_of(const double* logits, int64_t classes) {
  const double peak = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(logits[c] - peak);
  return peak + std::log(sum);
}

}  // namespace vkformer
