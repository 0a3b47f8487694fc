#include "shaders/relative_shift/relative_shift.h"

#include <algorithm>

#include "shaders/common/rows.h"
#include "shaders/relative_shift/relative_shift.args.h"

namespace vkformer {
namespace {

/// The sizes of a node of any of the three ops.
struct Sizes {
  int64_t batches, heads, queries, keys, positions;

  int64_t rows() const { return batches * heads * queries; }
  /// The column of the distance between query t and key s.
  int64_t column(int64_t t, int64_t s) const { return std::min(queries - t + s, positions - 1); }
  int64_t score_row(int64_t b, int64_t h, int64_t t) const { return (h * batches + b) * queries + t; }
  int64_t bias_row(int64_t b, int64_t h, int64_t t) const { return (b * heads + h) * queries + t; }
};

/// Of a bias [B, H, T, S].
Sizes sizes_of(const Shape& bias, int64_t positions) { return {bias[0], bias[1], bias[2], bias[3], positions}; }

/// Of a kernel whose rows have so many columns.
RelativeShiftArgs args_of(const Recorder& recorder, const Sizes& sizes, int64_t columns, double scale) {
  return {.rows = share_rows(recorder.device(), sizes.rows(), columns),
          .batches = static_cast<uint>(sizes.batches),
          .heads = static_cast<uint>(sizes.heads),
          .queries = static_cast<uint>(sizes.queries),
          .keys = static_cast<uint>(sizes.keys),
          .positions = static_cast<uint>(sizes.positions),
          .scale = static_cast<float>(scale)};
}

void check_sizes(std::string_view kernel, const Sizes& sizes) {
  check_rows(kernel, sizes.rows(), std::max(sizes.keys, sizes.positions));
}

bool segments_differ(const HostTensor& segments, const Sizes& z, int64_t b, int64_t t, int64_t s) {
  return segments[b * z.keys + z.keys - z.queries + t] != segments[b * z.keys + s];
}

void check_upstream(const Node& node) {
  check(node.input_types[0].dtype == DType::f32 && node.in(0).rank() == 4,
        "[{}] upstream is {}, needs f32 [B, H, T, S]", node.op->name, node.in(0).to_string());
}

void check_segments(const Node& node, size_t i, int64_t batches, int64_t keys) {
  check(node.input_types[i] == TensorType{{batches, keys}, DType::i32}, "[{}] segments is {} {}, needs i32 [{}, {}]",
        node.op->name, name_of(node.input_types[i].dtype), node.in(i).to_string(), batches, keys);
}

struct Problem {
  Shape bias;
  int64_t positions;
  bool segments;
  double scale;
};
const Problem problems[] = {{{1, 1, 1, 1}, 7, false, 1},      {{1, 1, 1, 1}, 1, true, 0.5},
                            {{2, 3, 7, 7}, 14, true, 0.25},   {{3, 2, 7, 7}, 14, false, -1.5},
                            {{2, 2, 3, 130}, 133, true, 0.7},  // queries are the last of the keys
                            {{1, 2, 37, 130}, 130, true, 1},   // keys share a column
                            {{1, 3, 6, 130}, 7, false, 1},    {{1, 2, 3, 1031}, 1031, true, 0.1}};

CaseInput segments_of(const Shape& bias, bool absent = false) {
  return {.type = {{bias[0], bias[3]}, DType::i32}, .low = -1, .high = 1, .absent = absent};
}

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

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.out(0).columns(), RowUse::move);
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

// --- relative_shift_position_backward: dbias -> dposition_scores [H, B T, L] ---

Types position_infer(const Node& node) {
  check_upstream(node);
  check(node.integer("positions") >= 1, "[relative_shift_position_backward] {} positions, needs at least one",
        node.integer("positions"));
  const Shape& bias = node.in(0);
  return {{Shape{bias[1], bias[0] * bias[2], node.integer("positions")}}};
}

void position_record(Recorder& recorder, const Node& node) {
  const Sizes sizes = sizes_of(node.in(0), node.out(0)[2]);
  RelativeShiftArgs args = args_of(recorder, sizes, sizes.positions, node.number("scale"));
  args.bias = recorder.address(node.inputs[0]);
  args.position_scores = recorder.address(node.outputs[0]);
  const bool shared = sizes.positions < sizes.keys + sizes.queries;
  check_sizes(node.op->name, sizes);
  recorder.dispatch(
      row_launch(recorder, node.op->name, RowUse::move, args.rows, sizes.positions, {args.position_scores}, {shared}),
      args);
}

void position_reference(const Node& node, Inputs in, Outputs out) {
  const Sizes z = sizes_of(node.in(0), node.out(0)[2]);
  for (int64_t b = 0; b < z.batches; ++b)
    for (int64_t h = 0; h < z.heads; ++h)
      for (int64_t t = 0; t < z.queries; ++t)
        for (int64_t s = 0; s < z.keys; ++s)
          out[0][z.score_row(b, h, t) * z.positions + z.column(t, s)] +=
              node.number("scale") * (*in[0])[z.bias_row(b, h, t) * z.keys + s];
}

std::vector<Case> position_cases() {
  std::vector<Case> list;
  for (const auto& [bias, positions, segments, scale] : problems)
    list.push_back({.inputs = {{.type = {bias}}},
                    .attributes = {{"positions", static_cast<double>(positions)}, {"scale", scale}},
                    .reduction = std::max<int64_t>(bias[2] + bias[3] - positions, 1)});
  return list;
}

Cost position_cost(const Node& node) {
  return {.bytes = 4 * static_cast<double>(node.in(0).elements() + node.out(0).elements()),
          .flops = static_cast<double>(node.in(0).elements())};
}

const Op position_backward_op = {.name = "relative_shift_position_backward",
                                 .infer = position_infer,
                                 .record = position_record,
                                 .reference = position_reference,
                                 .cases = position_cases,
                                 .cost = position_cost,
                                 .candidates = candidates,
                                 .room = row_room};

// --- relative_shift_segment_backward: dbias, segments -> dsegment_scores [H, B T, 2] ---

Types segment_infer(const Node& node) {
  check_upstream(node);
  const Shape& bias = node.in(0);
  check(bias[3] >= bias[2], "[relative_shift_segment_backward] upstream {} has fewer keys than queries",
        bias.to_string());
  check_segments(node, 1, bias[0], bias[3]);
  return {{Shape{bias[1], bias[0] * bias[2], 2}}};
}

std::vector<std::string_view> segment_candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::stream);
}

void segment_record(Recorder& recorder, const Node& node) {
  const Sizes sizes = sizes_of(node.in(0), 2);
  RelativeShiftArgs args = args_of(recorder, sizes, sizes.keys, node.number("scale"));
  args.bias = recorder.address(node.inputs[0]);
  args.segments = recorder.address(node.inputs[1]);
  args.segment_scores = recorder.address(node.outputs[0]);
  check_sizes(node.op->name, sizes);
  recorder.dispatch(row_launch(recorder, node.op->name, RowUse::stream, args.rows, sizes.keys, {args.bias}), args);
}

void segment_reference(const Node& node, Inputs in, Outputs out) {
  const Sizes z = sizes_of(node.in(0), 2);
  for (int64_t b = 0; b < z.batches; ++b)
    for (int64_t h = 0; h < z.heads; ++h)
      for (int64_t t = 0; t < z.queries; ++t)
        for (int64_t s = 0; s < z.keys; ++s)
          out[0][z.score_row(b, h, t) * 2 + (segments_differ(*in[1], z, b, t, s) ? 1 : 0)] +=
              node.number("scale") * (*in[0])[z.bias_row(b, h, t) * z.keys + s];
}

std::vector<Case> segment_cases() {
  std::vector<Case> list;
  for (const auto& [bias, positions, segments, scale] : problems)
    list.push_back(
        {.inputs = {{.type = {bias}}, segments_of(bias)}, .attributes = {{"scale", scale}}, .reduction = bias[3]});
  return list;
}

Cost segment_cost(const Node& node) {
  const auto bias = static_cast<double>(node.in(0).elements());
  return {.bytes = 4 * bias, .flops = bias};
}

const Op segment_backward_op = {.name = "relative_shift_segment_backward",
                                .infer = segment_infer,
                                .record = segment_record,
                                .reference = segment_reference,
                                .cases = segment_cases,
                                .cost = segment_cost,
                                .candidates = segment_candidates,
                                .room = row_room};

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  Values gradients(node.inputs.size());
  if (!upstream[0]) return gradients;
  const double scale = node.number("scale"), positions = static_cast<double>(node.in(0)[2]);
  const Value segments = node.inputs[2];
  gradients[0] = graph.apply(position_backward_op, {upstream[0]}, {{"positions", positions}, {"scale", scale}});
  if (segments) gradients[1] = graph.apply(segment_backward_op, {upstream[0], segments}, {{"scale", scale}});
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

VKFORMER_OPS(relative_shift, &vkformer::relative_shift_op, &vkformer::position_backward_op,
             &vkformer::segment_backward_op)
