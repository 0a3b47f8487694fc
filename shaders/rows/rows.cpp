#include "shaders/rows/rows.h"

#include <algorithm>

#include "shaders/common/stream.h"

namespace vkformer {
namespace {

constexpr size_t most_parts = 32;  // as half_inputs has bits
constexpr int64_t alignment = 16;  // of what kernels write

// --- rows: x -> y ---

Types infer(const Node& node) {
  const Shape& x = node.in(0);
  const DType dtype = node.input_types[0].dtype;
  const int64_t first = node.integer("first"), count = node.integer("count");
  check(dtype != DType::i32 && x.rank() >= 1, "[rows] takes floats [.., C], got {} {}", name_of(dtype), x.to_string());
  check(first >= 0 && count >= 1 && first <= x.rows() - count, "[rows] {} rows from row {} on are not all in x {}",
        count, first, x.to_string());
  check(!is_half(dtype) || (first * x.columns() % 2 == 0 && count * x.columns() % 2 == 0),
        "[rows] {} rows from row {} on of {} {} are not whole words", count, first, name_of(dtype), x.to_string());
  return {{{count, x.columns()}, dtype}};
}

void record(Recorder& recorder, const Node& node) {
  const auto skipped =
      static_cast<uint64_t>(node.input_types[0].offset_of(node.integer("first") * node.in(0).columns()));
  const Region target = recorder.region(node.outputs[0]);
  stream_copy(recorder, {recorder.address(node.inputs[0]) + skipped, target.bytes}, target);
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t skipped = node.integer("first") * node.in(0).columns();
  for (int64_t i = 0; i < node.out(0).elements(); ++i) out[0][i] = (*in[0])[skipped + i];
}

std::vector<Case> cases() {
  const auto of = [](TensorType x, double first, double count) {
    return Case{.inputs = {{.type = x}}, .attributes = {{"first", first}, {"count", count}}};
  };
  return {of({{1, 1}}, 0, 1),
          of({{2, 5, 7}}, 3, 4),
          of({{67, 130}}, 66, 1),
          of({{12, 7}, DType::f16}, 2, 10),
          of({{67, 130}, DType::bf16}, 1, 66),
          of({{2, 5, 64}, DType::q8_0}, 3, 4)};
}

Cost cost(const Node& node) { return {.bytes = 2 * static_cast<double>(node.output_types[0].bytes()), .flops = 0}; }

const Op rows_op = {.name = "rows",
                    .infer = infer,
                    .record = record,
                    .reference = reference,
                    .cases = cases,
                    .cost = cost,
                    .half_inputs = 0b1,
                    .block_inputs = 0b1};

// --- join_rows: parts -> y ---

Types joined_infer(const Node& node) {
  check(!node.inputs.empty() && node.inputs.size() <= most_parts && node.in(0).rank() >= 1,
        "[join_rows] needs 1 to {} parts [.., C], got {}", most_parts, node.inputs.size());
  const TensorType& first = node.input_types[0];
  int64_t count = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorType& part = node.input_types[i];
    check(node.has_input(i) && part.dtype == first.dtype && part.dtype != DType::i32 && part.shape.rank() >= 1 &&
              part.shape.columns() == first.shape.columns() && part.bytes() % 4 == 0,
          "[join_rows] part {} is {} {}, the first {} {}; all must be whole words of floats of one type and width", i,
          name_of(part.dtype), part.shape.to_string(), name_of(first.dtype), first.shape.to_string());
    count += part.shape.rows();
  }
  return {{{count, first.shape.columns()}, first.dtype}};
}

/// Bytes from the start at which the parts lie.
std::vector<int64_t> part_offsets(const Node& node) {
  std::vector<int64_t> offsets;
  int64_t end = 0;
  for (const TensorType& part : node.input_types) {
    offsets.push_back(end);
    end += part.bytes();
  }
  return offsets;
}

std::vector<int64_t> joined_places(const Node& node) {
  std::vector<int64_t> offsets = part_offsets(node);
  if (!std::ranges::all_of(offsets, [](int64_t at) { return at % alignment == 0; })) offsets.clear();
  return offsets;
}

void joined_record(Recorder& recorder, const Node& node) {
  const uint64_t target = recorder.address(node.outputs[0]);
  const std::vector<int64_t> offsets = part_offsets(node);
  for (size_t i = 0; i < offsets.size(); ++i) {
    const Region source = recorder.region(node.inputs[i]);
    const Region place{target + static_cast<uint64_t>(offsets[i]), source.bytes};
    if (source.address != place.address) stream_copy(recorder, source, place);
  }
}

void joined_reference(const Node& node, Inputs in, Outputs out) {
  int64_t next = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    for (int64_t k = 0; k < node.in(i).elements(); ++k) out[0][next++] = (*in[i])[k];
}

std::vector<Case> joined_cases() {
  const auto of = [](std::initializer_list<Shape> shapes, DType dtype = DType::f32) {
    Case next{.inputs = {}, .attributes = {}};
    for (const Shape& shape : shapes) next.inputs.push_back({{shape, dtype}});
    return next;
  };
  return {of({{1, 1}}), of({{64, 64}, {64, 64}, {3, 64}}), of({{3, 7}, {2, 5, 7}, {1, 7}}),
          of({{8, 130}, {8, 130}, {2, 130}}, DType::bf16), of({{2, 7}, {4, 7}}, DType::f16)};
}

// In the place the plan gives them, parts cost nothing to join.
Cost joined_cost(const Node&) { return {}; }

const Op join_rows_op = {.name = "join_rows",
                         .infer = joined_infer,
                         .record = joined_record,
                         .reference = joined_reference,
                         .cases = joined_cases,
                         .cost = joined_cost,
                         .half_inputs = ~0u,
                         .places = joined_places};

}  // namespace

Value rows(Graph& graph, Value x, int64_t first, int64_t count) {
  return graph.apply(rows_op, {x}, {{"first", static_cast<double>(first)}, {"count", static_cast<double>(count)}});
}

Value join_rows(Graph& graph, const Values& parts) {
  return parts.size() == 1 ? parts[0] : graph.apply(join_rows_op, parts);
}

}  // namespace vkformer

VKFORMER_OPS(rows, &vkformer::rows_op, &vkformer::join_rows_op)
