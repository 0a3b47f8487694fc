#include "shaders/relative_shift/relative_shift_backward.h"

namespace vkformer {

using namespace relative_shift_parts;

namespace relative_shift_parts {

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

void check_segments(const Node& node, size_t i, int64_t batches, int64_t keys) {
  check(node.input_types[i] == TensorType{{batches, keys}, DType::i32}, "[{}] segments is {} {}, needs i32 [{}, {}]",
        node.op->name, name_of(node.input_types[i].dtype), node.in(i).to_string(), batches, keys);
}

CaseInput segments_of(const Shape& bias, bool absent) {
  return {.type = {{bias[0], bias[3]}, DType::i32}, .low = -1, .high = 1, .absent = absent};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.out(0).columns(), RowUse::move);
}

}  // namespace relative_shift_parts

namespace {

void check_upstream(const Node& node) {
  check(node.input_types[0].dtype == DType::f32 && node.in(0).rank() == 4,
        "[{}] upstream is {}, needs f32 [B, H, T, S]", node.op->name, node.in(0).to_string());
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

}  // namespace

const Op relative_shift_position_backward_op = {.name = "relative_shift_position_backward",
                                                .infer = position_infer,
                                                .record = position_record,
                                                .reference = position_reference,
                                                .cases = position_cases,
                                                .cost = position_cost,
                                                .candidates = candidates,
                                                .room = row_room};

const Op relative_shift_segment_backward_op = {.name = "relative_shift_segment_backward",
                                               .infer = segment_infer,
                                               .record = segment_record,
                                               .reference = segment_reference,
                                               .cases = segment_cases,
                                               .cost = segment_cost,
                                               .candidates = segment_candidates,
                                               .room = row_room};

}  // namespace vkformer
