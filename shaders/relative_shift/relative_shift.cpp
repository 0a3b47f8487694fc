#include "shaders/relative_shift/relative_shift.h"

#include "shaders/relative_shift/relative_shift_backward.h"

namespace vkformer {

using namespace relative_shift_parts;

namespace {

// --- relative_shift: position_scores [H, B T, L], segment_scores? [H, B T, 2], segments? [B, S] -> bias [B, H, T, S]
// ---

Types infer(const Node& node) {
  const Shape& scores = node.in(0);
  const int64_t batches = node.integer("batches");
  check(node.input_types[0].dtype == DType::f32 && scores.rank() == 3 && scores[2] >= 1,
        "[relative_shift] position_scores is {}, needs f32 [H, B T, L]", scores.to_string());
  check(batches >= 1 && scores[1] >= 1 && scores[1] % batches == 0,
        "[relative_shift] position_scores {} has {} rows a head, not the same number for each of {} batches",
        scores.to_string(), scores[1], batches);
  const int64_t queries = scores[1] / batches;
  const int64_t keys = node.integer("keys") == 0 ? queries : node.integer("keys");
  check(keys >= queries, "[relative_shift] {} keys are fewer than the {} queries", keys, queries);
  check(node.has_input(1) == node.has_input(2), "[relative_shift] segment_scores and segments go together");
  if (node.has_input(1)) {
    check(node.input_types[1] == TensorType{scores.with_columns(2)},
          "[relative_shift] segment_scores is {}, position_scores {} needs f32 {}", node.in(1).to_string(),
          scores.to_string(), scores.with_columns(2).to_string());
    check_segments(node, 2, batches, keys);
  }
  return {{Shape{batches, scores[0], queries, keys}}};
}

void record(Recorder& recorder, const Node& node) {
  const Sizes sizes = sizes_of(node.out(0), node.in(0)[2]);
  const bool segments = node.has_input(1);
  RelativeShiftArgs args = args_of(recorder, sizes, sizes.keys, node.number("scale"));
  args.position_scores = recorder.address(node.inputs[0]);
  args.segment_scores = segments ? recorder.address(node.inputs[1]) : 0;
  args.segments = segments ? recorder.address(node.inputs[2]) : 0;
  args.bias = recorder.address(node.outputs[0]);
  check_sizes("relative_shift", sizes);
  recorder.dispatch(
      row_launch(recorder, "relative_shift", RowUse::move, args.rows, sizes.keys, {args.bias}, {segments}), args);
}

void reference(const Node& node, Inputs in, Outputs out) {
  const Sizes z = sizes_of(node.out(0), node.in(0)[2]);
  for (int64_t b = 0; b < z.batches; ++b)
    for (int64_t h = 0; h < z.heads; ++h)
      for (int64_t t = 0; t < z.queries; ++t)
        for (int64_t s = 0; s < z.keys; ++s) {
          double score = (*in[0])[z.score_row(b, h, t) * z.positions + z.column(t, s)];
          if (in[1]) score += (*in[1])[z.score_row(b, h, t) * 2 + (segments_differ(*in[2], z, b, t, s) ? 1 : 0)];
          out[0][z.bias_row(b, h, t) * z.keys + s] = node.number("scale") * score;
        }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto& [bias, positions, segments, scale] : problems) {
    const Shape scores{bias[1], bias[0] * bias[2], positions};
    const int64_t keys = bias[3] == bias[2] ? 0 : bias[3];
    list.push_back(
        {.inputs = {{.type = {scores}},
                    {.type = {scores.with_columns(2)}, .absent = !segments},
                    segments_of(bias, !segments)},
         .attributes = {
             {"batches", static_cast<double>(bias[0])}, {"keys", static_cast<double>(keys)}, {"scale", scale}}});
  }
  return list;
}

Cost cost(const Node& node) {
  const auto bias = static_cast<double>(node.out(0).elements());
  return {.bytes = 8 * bias, .flops = (node.has_input(1) ? 2 : 1) * bias};
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  Values gradients(node.inputs.size());
  if (!upstream[0]) return gradients;
  const double scale = node.number("scale"), positions = static_cast<double>(node.in(0)[2]);
  const Value segments = node.inputs[2];
  gradients[0] =
      graph.apply(relative_shift_position_backward_op, {upstream[0]}, {{"positions", positions}, {"scale", scale}});
  if (segments)
    gradients[1] = graph.apply(relative_shift_segment_backward_op, {upstream[0], segments}, {{"scale", scale}});
  return gradients;
}

const Op relative_shift_op = {.name = "relative_shift",
                              .infer = infer,
                              .record = record,
                              .gradient = gradient,
                              .reference = reference,
                              .cases = cases,
                              .cost = cost,
                              .candidates = candidates,
                              .room = row_room};

}  // namespace

Value relative_shift(Graph& graph, Value position_scores, Value segment_scores, Value segments,
                     const RelativeShift& options) {
  return graph.apply(relative_shift_op, {position_scores, segment_scores, segments},
                     {{"batches", static_cast<double>(options.batches)},
                      {"keys", static_cast<double>(options.keys)},
                      {"scale", options.scale}});
}

}  // namespace vkformer

VKFORMER_OPS(relative_shift, &vkformer::relative_shift_op, &vkformer::relative_shift_position_backward_op,
             &vkformer::relative_shift_segment_backward_op)
