#include "shaders/slice/slice.h"

#include <algorithm>

#include "shaders/common/rows.h"
#include "shaders/slice/slice.args.h"

namespace vkformer {
namespace {

/// Part of the columns of a matrix: `first` is the address of the first one.
struct Columns {
  uint64_t first;
  int64_t stride;
};

uint64_t offset(int64_t columns) { return static_cast<uint64_t>(columns * size_of(DType::f32)); }

void copy(Recorder& recorder, int64_t rows, int64_t count, Columns source, Columns target) {
  check_rows("slice", rows, std::max(source.stride, target.stride));
  const Rows shared = share_rows(recorder.device(), rows, count);
  Launch launch = row_launch(recorder, "slice", RowUse::move, shared, count, {source.first, target.first});
  // Pairs of neighbours must start at even columns in every row.
  uint32_t& paired = launch.constants[2];
  paired = paired && source.stride % 2 == 0 && target.stride % 2 == 0;
  recorder.dispatch(launch, SliceArgs{.source = source.first,
                                      .target = target.first,
                                      .rows = shared,
                                      .source_stride = static_cast<uint>(source.stride),
                                      .target_stride = static_cast<uint>(target.stride)});
}

const Shape& narrow(const Node& node) { return node.op->name == "slice" ? node.out(0) : node.in(0); }

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, narrow(node).columns(), RowUse::move);
}

/// Every case forward, and turned around for the backward kernel. Pairs of neighbours start aligned in all rows, in
/// every second one ({7, 131}) and in none ({3, 132}).
struct Problem {
  Shape x;
  int64_t first, count;
};
const Problem problems[] = {
    {{1}, 0, 1},         {{1031, 3}, 2, 1},       {{2, 3, 37}, 36, 1},     {{3, 7}, 0, 7},
    {{67, 137}, 130, 7}, {{2, 5, 260}, 130, 130}, {{67, 132}, 2, 130},     {{7, 131}, 0, 130},
    {{3, 132}, 1, 130},  {{5, 1031}, 0, 1031},    {{2, 2664}, 1633, 1031},
};

// --- slice: x -> y ---

Types infer(const Node& node) {
  const Shape& x = node.in(0);
  const int64_t first = node.integer("first"), count = node.integer("count");
  check(node.input_types[0].dtype == DType::f32 && x.rank() >= 1, "[slice] x is {} {}, it must be f32 [.., C]",
        name_of(node.input_types[0].dtype), x.to_string());
  check(first >= 0 && count >= 1 && count <= x.columns() && first <= x.columns() - count,
        "[slice] {} columns from column {} on are not all in x {}", count, first, x.to_string());
  return {{x.with_columns(count)}};
}

void record(Recorder& recorder, const Node& node) {
  const Shape &x = node.in(0), &y = node.out(0);
  copy(recorder, x.rows(), y.columns(), {recorder.address(node.inputs[0]) + offset(node.integer("first")), x.columns()},
       {recorder.address(node.outputs[0]), y.columns()});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t columns = node.in(0).columns(), first = node.integer("first"), count = node.integer("count");
  for (int64_t r = 0; r < node.in(0).rows(); ++r)
    for (int64_t c = 0; c < count; ++c) out[0][r * count + c] = (*in[0])[r * columns + first + c];
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto& [x, first, count] : problems)
    list.push_back({.inputs = {{.type = {x}}},
                    .attributes = {{"first", static_cast<double>(first)}, {"count", static_cast<double>(count)}}});
  return list;
}

Cost cost(const Node& node) { return {.bytes = 8 * static_cast<double>(node.out(0).elements()), .flops = 0}; }

// --- slice_backward: upstream -> dx ---

Types backward_infer(const Node& node) {
  const Shape& upstream = node.in(0);
  const int64_t first = node.integer("first"), columns = node.integer("columns");
  check(node.input_types[0].dtype == DType::f32 && upstream.rank() >= 1,
        "[slice_backward] upstream is {} {}, it must be f32 [.., count]", name_of(node.input_types[0].dtype),
        upstream.to_string());
  check(first >= 0 && upstream.columns() <= columns && first <= columns - upstream.columns(),
        "[slice_backward] upstream {} from column {} on is wider than {} columns", upstream.to_string(), first,
        columns);
  return {{upstream.with_columns(columns)}};
}

void backward_record(Recorder& recorder, const Node& node) {
  const Shape &upstream = node.in(0), &dx = node.out(0);
  const Region target = recorder.region(node.outputs[0]);
  if (upstream.columns() < dx.columns()) recorder.fill(target, 0);
  copy(recorder, dx.rows(), upstream.columns(), {recorder.address(node.inputs[0]), upstream.columns()},
       {target.address + offset(node.integer("first")), dx.columns()});
}

void backward_reference(const Node& node, Inputs in, Outputs out) {
  const int64_t columns = node.out(0).columns(), first = node.integer("first"), count = node.in(0).columns();
  for (int64_t r = 0; r < node.in(0).rows(); ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[0][r * columns + c] = c >= first && c < first + count ? (*in[0])[r * count + c - first] : 0;
}

std::vector<Case> backward_cases() {
  std::vector<Case> list;
  for (const auto& [x, first, count] : problems)
    list.push_back(
        {.inputs = {{.type = {x.with_columns(count)}}},
         .attributes = {{"first", static_cast<double>(first)}, {"columns", static_cast<double>(x.columns())}}});
  return list;
}

Cost backward_cost(const Node& node) {
  return {.bytes = 4 * static_cast<double>(node.in(0).elements() + node.out(0).elements()), .flops = 0};
}

const Op slice_backward_op = {.name = "slice_backward",
                              .infer = backward_infer,
                              .record = backward_record,
                              .reference = backward_reference,
                              .cases = backward_cases,
                              .cost = backward_cost,
                              .candidates = candidates,
                              .room = row_room};

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}};
  return {graph.apply(slice_backward_op, {upstream[0]},
                      {{"first", node.number("first")}, {"columns", static_cast<double>(node.in(0).columns())}})};
}

const Op slice_op = {.name = "slice",
                     .infer = infer,
                     .record = record,
                     .gradient = gradient,
                     .reference = reference,
                     .cases = cases,
                     .cost = cost,
                     .candidates = candidates,
                     .room = row_room};

}  // namespace

Value slice(Graph& graph, Value x, int64_t first, int64_t count) {
  if (first == 0 && count == graph.shape(x).columns()) return x;
  return graph.apply(slice_op, {x}, {{"first", static_cast<double>(first)}, {"count", static_cast<double>(count)}});
}

}  // namespace vkformer

VKFORMER_OPS(slice, &vkformer::slice_op, &vkformer::slice_backward_op)
