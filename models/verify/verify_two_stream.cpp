#include <algorithm>

#include "models/verify/recorded_case.h"
#include "models/verify/verify_parts.h"
#include "runtime/check.h"
#include "shaders/cross_entropy/cross_entropy.h"

namespace vkformer {

namespace {

/// Index b * T + t of each prediction, from rows of zeros with a one at t.
std::vector<int32_t> predicted_positions(const std::vector<float>& one_hot, size_t predictions, size_t positions) {
  std::vector<int32_t> predicted;
  for (size_t row = 0; row < one_hot.size() / positions; ++row) {
    const auto begin = one_hot.begin() + static_cast<std::ptrdiff_t>(row * positions);
    const auto end = begin + static_cast<std::ptrdiff_t>(positions);
    const auto one = std::find(begin, end, 1.0f);
    check(one != end && std::count(begin, end, 0.0f) == static_cast<std::ptrdiff_t>(positions) - 1,
          "target_mapping: row {} is not one position; mixtures of positions are not supported", row);
    predicted.push_back(static_cast<int32_t>(row / predictions * positions + static_cast<size_t>(one - begin)));
  }
  return predicted;
}

/// The order whose masks are these: `hidden` [B, T, T] where a query does not see a key, `mask` [B, T] 0 at padding.
std::vector<int32_t> order_of(const std::vector<float>& hidden, const std::vector<int32_t>& mask, size_t positions) {
  std::vector<int32_t> order(mask.size());
  for (size_t t = 0; t < order.size(); ++t) {
    const auto row = hidden.begin() + static_cast<std::ptrdiff_t>(t * positions);
    const bool given = hidden[t * positions + t % positions] == 0;
    order[t] = given ? -1 : static_cast<int32_t>(std::count(row, row + static_cast<std::ptrdiff_t>(positions), 0.0f));
  }
  for (size_t i = 0; i < hidden.size(); ++i) {
    const size_t t = i / positions, s = t / positions * positions + i % positions;
    check((hidden[i] == 0) == (order[s] < 0 || order[s] < order[t]),
          "perm_mask is not that of an order of predictions");
  }
  for (size_t t = 0; t < order.size(); ++t)
    if (mask[t] == 0) order[t] = static_cast<int32_t>(positions);
  return order;
}

}  // namespace

TwoStreams read_two_streams(const SafetensorsFile& expected, const std::string& prefix) {
  const auto shape = expected.require(prefix + "target_mapping").shape;
  check(shape.size() == 3, "{}target_mapping has {} dimensions, 3 are needed", prefix, shape.size());
  const int64_t B = shape[0], P = shape[1], T = shape[2];
  const auto require_shape = [&](const std::string& name, const std::vector<int64_t>& wanted) {
    check(expected.require(name).shape == wanted, "{} does not fit {}target_mapping", name, prefix);
  };
  require_shape("input_ids", {B, T});
  require_shape("attention_mask", {B, T});
  require_shape(prefix + "perm_mask", {B, T, T});
  require_shape(prefix + "labels", {B, P});
  const auto positions = static_cast<size_t>(T);
  return {
      .predictions = P,
      .order = order_of(read_floats(expected, prefix + "perm_mask"), read_ints(expected, "attention_mask"), positions),
      .predicted =
          predicted_positions(read_floats(expected, prefix + "target_mapping"), static_cast<size_t>(P), positions)};
}

void verify_two_stream(const RecordedCase& recorded) {
  const std::string prefix = "two_stream.";
  if (!recorded.has(prefix + "logits")) return;
  const TwoStreams streams = read_two_streams(recorded.expected(), prefix);
  BatchShape batch = recorded.batch();
  batch.mask = false;  // padding is part of the order
  batch.predictions = streams.predictions;

  Graph graph;
  const Value logits = add_logits(graph, recorded.model(), add_inputs(graph, recorded.model(), batch));
  graph.mark_output(logits, "logits");
  graph.mark_output(cross_entropy(graph, logits, graph.input("targets", {batch.rows, batch.predictions}, DType::i32)),
                    "loss");
  auto program = recorded.backend().compile(std::move(graph), recorded.load());
  Feed same = recorded.feed();
  std::erase_if(same, [](const auto& input) { return input.first != "ids" && input.first != "segments"; });
  write_feed(*program, same);
  program->write("order", streams.order);
  program->write("predicted", streams.predicted);
  program->write("targets", read_ints(recorded.expected(), prefix + "labels"));
  program->run();
  recorded.compare(prefix + "logits", program->read("logits"), recorded.limit("logits_relative_to_max"));
  recorded.compare_relative(prefix + "loss", static_cast<double>(program->read("loss")[0]),
                            static_cast<double>(recorded.floats(prefix + "loss")[0]), recorded.limit("loss_relative"));
}

}  // namespace vkformer
