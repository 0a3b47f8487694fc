#include "shaders/slice/slice.h"

#include <algorithm>
#include <array>

#include "shaders/common/rows.h"
#include "shaders/expert_sum/expert_sum.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.args.h"

namespace vkformer {
namespace {

/// Part of the columns of a matrix: `first` is the address of the first one.
struct Columns {
  uint64_t first;
  int64_t stride;
};

/// Columns in 32-bit words: a float, an integer, or two floats of 16 bits, which are only moved.
int64_t words(DType dtype, int64_t columns) { return is_half(dtype) ? columns / 2 : columns; }

uint64_t offset(DType dtype, int64_t columns) { return static_cast<uint64_t>(columns * size_of(dtype)); }

/// Part of the columns of input i: of 16-bit floats whole words everywhere.
void check_words(const Node& node, size_t i, std::initializer_list<int64_t> columns) {
  const DType dtype = node.input_types[i].dtype;
  check(node.in(i).rank() >= 1, "[{}] takes [.., C], got {} {}", node.op->name, name_of(dtype), node.in(i).to_string());
  for (const int64_t count : columns)
    check(!is_half(dtype) || count % 2 == 0,
          "[{}] of {} {}, which moves in words of two: the first column and all numbers of columns must be even, not "
          "{}",
          node.op->name, name_of(dtype), node.in(i).to_string(), count);
}

/// `rows` of the target, `repeat` of one row of the source.
void copy(Recorder& recorder, DType dtype, int64_t rows, int64_t columns, Columns source, Columns target,
          int64_t repeat = 1) {
  const int64_t count = words(dtype, columns);
  source.stride = words(dtype, source.stride);
  target.stride = words(dtype, target.stride);
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
                                      .target_stride = static_cast<uint>(target.stride),
                                      .repeat = static_cast<uint>(repeat)});
}

const Shape& narrow(const Node& node) { return node.op->name == "slice" ? node.out(0) : node.in(0); }

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, words(node.input_types[0].dtype, narrow(node).columns()), RowUse::move);
}

/// Every case forward, and turned around for the backward kernel. Pairs of neighbours start aligned in all rows, in
/// every second one ({7, 131}) and in none ({3, 132}).
struct Problem {
  Shape x;
  int64_t first, count;
  DType dtype = DType::f32;
};
const Problem problems[] = {
    {{1}, 0, 1},
    {{1031, 3}, 2, 1},
    {{2, 3, 37}, 36, 1},
    {{3, 7}, 0, 7},
    {{67, 137}, 130, 7},
    {{2, 5, 260}, 130, 130},
    {{67, 132}, 2, 130},
    {{7, 131}, 0, 130},
    {{3, 132}, 1, 130},
    {{5, 1031}, 0, 1031},
    {{2, 2664}, 1633, 1031},
    {{2, 5, 520}, 260, 260, DType::f16},
    {{67, 24}, 6, 14, DType::bf16},
    {{7, 131}, 0, 130, DType::i32},
};

// --- slice: x -> y ---

Types infer(const Node& node) {
  const Shape& x = node.in(0);
  const int64_t first = node.integer("first"), count = node.integer("count");
  check_words(node, 0, {first, count, x.columns()});
  check(first >= 0 && count >= 1 && count <= x.columns() && first <= x.columns() - count,
        "[slice] {} columns from column {} on are not all in x {}", count, first, x.to_string());
  return {{x.with_columns(count), node.input_types[0].dtype}};
}

void record(Recorder& recorder, const Node& node) {
  const Shape &x = node.in(0), &y = node.out(0);
  const DType dtype = node.input_types[0].dtype;
  copy(recorder, dtype, x.rows(), y.columns(),
       {recorder.address(node.inputs[0]) + offset(dtype, node.integer("first")), x.columns()},
       {recorder.address(node.outputs[0]), y.columns()});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t columns = node.in(0).columns(), first = node.integer("first"), count = node.integer("count");
  for (int64_t r = 0; r < node.in(0).rows(); ++r)
    for (int64_t c = 0; c < count; ++c) out[0][r * count + c] = (*in[0])[r * columns + first + c];
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto& [x, first, count, dtype] : problems)
    list.push_back({.inputs = {{.type = {x, dtype}}},
                    .attributes = {{"first", static_cast<double>(first)}, {"count", static_cast<double>(count)}}});
  return list;
}

Cost cost(const Node& node) { return {.bytes = 2 * static_cast<double>(node.output_types[0].bytes()), .flops = 0}; }

// --- slice_backward: upstream -> dx ---

Types backward_infer(const Node& node) {
  const Shape& upstream = node.in(0);
  const int64_t first = node.integer("first"), columns = node.integer("columns");
  check_words(node, 0, {first, upstream.columns(), columns});
  check(first >= 0 && upstream.columns() <= columns && first <= columns - upstream.columns(),
        "[slice_backward] upstream {} from column {} on is wider than {} columns", upstream.to_string(), first,
        columns);
  return {{upstream.with_columns(columns), node.input_types[0].dtype}};
}

void backward_record(Recorder& recorder, const Node& node) {
  const Shape &upstream = node.in(0), &dx = node.out(0);
  const Region target = recorder.region(node.outputs[0]);
  if (upstream.columns() < dx.columns()) recorder.fill(target, 0);
  const DType dtype = node.input_types[0].dtype;
  copy(recorder, dtype, dx.rows(), upstream.columns(), {recorder.address(node.inputs[0]), upstream.columns()},
       {target.address + offset(dtype, node.integer("first")), dx.columns()});
}

void backward_reference(const Node& node, Inputs in, Outputs out) {
  const int64_t columns = node.out(0).columns(), first = node.integer("first"), count = node.in(0).columns();
  for (int64_t r = 0; r < node.in(0).rows(); ++r)
    for (int64_t c = 0; c < columns; ++c)
      out[0][r * columns + c] = c >= first && c < first + count ? (*in[0])[r * count + c - first] : 0;
}

std::vector<Case> backward_cases() {
  std::vector<Case> list;
  for (const auto& [x, first, count, dtype] : problems)
    list.push_back(
        {.inputs = {{.type = {x.with_columns(count), dtype}}},
         .attributes = {{"first", static_cast<double>(first)}, {"columns", static_cast<double>(x.columns())}}});
  return list;
}

Cost backward_cost(const Node& node) {
  return {.bytes = static_cast<double>(node.input_types[0].bytes() + node.output_types[0].bytes()), .flops = 0};
}

const Op slice_backward_op = {.name = "slice_backward",
                              .infer = backward_infer,
                              .record = backward_record,
                              .reference = backward_reference,
                              .cases = backward_cases,
                              .cost = backward_cost,
                              .candidates = candidates,
                              .room = row_room,
                              .half_inputs = 0b1};

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
                     .room = row_room,
                     .half_inputs = 0b1};

// --- join_columns: parts -> y ---

constexpr size_t most_parts = 4;
constexpr std::array<std::string_view, most_parts> firsts{"first0", "first1", "first2", "first3"},
    counts{"count0", "count1", "count2", "count3"}, repeats{"repeat0", "repeat1", "repeat2", "repeat3"};

/// The columns that the node takes of input i.
struct JoinedPart {
  int64_t first, count, repeat;
  bool whole;  ///< all of the input, each row once

  JoinedPart(const Node& node, size_t i)
      : first(node.integer(firsts[i])),
        count(node.integer(counts[i])),
        repeat(node.integer(repeats[i])),
        whole(count == node.in(i).columns() && repeat == 1) {}
};

Types joined_infer(const Node& node) {
  check(!node.inputs.empty() && node.inputs.size() <= most_parts && node.in(0).rank() >= 1,
        "[join_columns] needs 1 to {} parts [.., C]", most_parts);
  const DType dtype = node.input_types[0].dtype;
  int64_t columns = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Shape& part = node.in(i);
    const auto [first, count, repeat, whole] = JoinedPart(node, i);
    const bool fits = repeat == 1
                          ? part.rank() == node.in(0).rank() && part.with_columns(1) == node.in(0).with_columns(1)
                          : i > 0 && repeat > 1 && part.rows() * repeat == node.in(0).rows();
    check(
        node.has_input(i) && node.input_types[i].dtype == dtype && (dtype == DType::f32 || is_half(dtype)) && fits &&
            part.columns() > 0,
        "[join_columns] part {} is {} {}, its rows {} times, the first {} {}; all must be floats of one type and agree "
        "in all but the last dimension, or in the number of rows",
        i, name_of(node.input_types[i].dtype), part.to_string(), repeat, name_of(dtype), node.in(0).to_string());
    check(first >= 0 && count >= 1 && count <= part.columns() && first <= part.columns() - count,
          "[join_columns] {} columns from column {} on are not all in part {}, {}", count, first, i, part.to_string());
    check_words(node, i, {first, count, part.columns()});
    columns += count;
  }
  return {{node.in(0).with_columns(columns), dtype}};
}

/// By bytes from the row's start.
std::vector<uint64_t> part_offsets(const Node& node) {
  std::vector<uint64_t> offsets{0};
  for (size_t i = 0; i < node.inputs.size(); ++i)
    offsets.push_back(offsets.back() + offset(node.input_types[0].dtype, JoinedPart(node, i).count));
  return offsets;
}

/// The parts of a single row lie one after the other, where kernels can write them.
std::vector<int64_t> joined_places(const Node& node) {
  const std::vector<uint64_t> offsets = part_offsets(node);
  bool in_place = node.out(0).rows() == 1 && std::ranges::all_of(offsets, [](uint64_t at) { return at % 16 == 0; });
  for (size_t i = 0; i < node.inputs.size(); ++i) in_place = in_place && JoinedPart(node, i).whole;
  if (!in_place) return {};
  return {offsets.begin(), offsets.end() - 1};
}

void joined_record(Recorder& recorder, const Node& node) {
  const Shape& y = node.out(0);
  const DType dtype = node.output_types[0].dtype;
  const uint64_t target = recorder.address(node.outputs[0]);
  const std::vector<uint64_t> offsets = part_offsets(node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const JoinedPart part(node, i);
    const uint64_t source = recorder.address(node.inputs[i]) + offset(dtype, part.first);
    if (source != target + offsets[i])
      copy(recorder, dtype, y.rows(), part.count, {source, node.in(i).columns()}, {target + offsets[i], y.columns()},
           part.repeat);
  }
}

Values joined_gradient(Graph& graph, const Node& original, std::span<const Value> upstream) {
  const Node node = original;  // adding nodes moves the graph's
  Values gradients(node.inputs.size());
  if (!upstream[0]) return gradients;
  int64_t begin = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const JoinedPart part(node, i);
    const Shape& shape = node.in(i);
    Value own = slice(graph, upstream[0], begin, part.count);
    begin += part.count;
    if (part.repeat > 1)
      own = reshape(graph, expert_sum(graph, reshape(graph, own, {shape.rows(), part.repeat, part.count}), {}),
                    shape.with_columns(part.count));
    gradients[i] = part.count == shape.columns() ? own
                                                 : graph.apply(slice_backward_op, {own},
                                                               {{"first", static_cast<double>(part.first)},
                                                                {"columns", static_cast<double>(shape.columns())}});
  }
  return gradients;
}

void joined_reference(const Node& node, Inputs in, Outputs out) {
  int64_t begin = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const auto [first, count, repeat, whole] = JoinedPart(node, i);
    for (int64_t row = 0; row < node.out(0).rows(); ++row)
      for (int64_t c = 0; c < count; ++c)
        out[0][row * node.out(0).columns() + begin + c] = (*in[i])[row / repeat * node.in(i).columns() + first + c];
    begin += count;
  }
}

struct JoinedRange {
  int64_t first, count, repeat = 1;
};

Attributes joined_attributes(std::span<const JoinedRange> ranges) {
  Attributes attributes;
  for (size_t i = 0; i < ranges.size(); ++i) {
    attributes.set(firsts.at(i), static_cast<double>(ranges[i].first));
    attributes.set(counts.at(i), static_cast<double>(ranges[i].count));
    attributes.set(repeats.at(i), static_cast<double>(ranges[i].repeat));
  }
  return attributes;
}

std::vector<Case> joined_cases() {
  std::vector<Case> list;
  struct Part {
    Shape shape;
    JoinedRange range = {};
  };
  const auto add = [&](std::initializer_list<Part> parts, DType dtype = DType::f32) {
    Case next;
    std::vector<JoinedRange> ranges;
    for (const auto& [shape, range] : parts) {
      next.inputs.push_back({{shape, dtype}});
      ranges.push_back(range.count > 0 ? range : JoinedRange{range.first, shape.columns(), range.repeat});
    }
    next.attributes = joined_attributes(ranges);
    list.push_back(std::move(next));
  };
  add({{{1, 64}}, {{1, 64}}, {{1, 64}}});
  add({{{1, 7}}, {{1, 130}}});
  add({{{67, 130}}, {{67, 7}}, {{67, 7}}});
  add({{{2, 5, 64}}, {{2, 5, 130}}});
  add({{{67, 132}, {2, 130}}, {{67, 137}, {130, 7}}});
  add({{{2, 9, 14}}, {{2, 3, 133}, {126, 7, 3}}, {{6, 4}, {0, 0, 3}}});
  add({{{68, 24}}, {{17, 132}, {118, 14, 4}}}, DType::f16);
  return list;
}

Cost joined_cost(const Node& node) {
  return {.bytes = 2 * static_cast<double>(node.output_types[0].bytes()), .flops = 0};
}

/// Parts of unlike widths share one kernel.
std::vector<std::string_view> joined_candidates(const Node& node, const DeviceFacts& facts) {
  bool even = true;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    even = even && words(node.input_types[0].dtype, JoinedPart(node, i).count) % 2 == 0;
  return row_candidates(facts, even ? 2 : 1, RowUse::move);
}

const Op join_columns_op = {.name = "join_columns",
                            .infer = joined_infer,
                            .record = joined_record,
                            .gradient = joined_gradient,
                            .reference = joined_reference,
                            .cases = joined_cases,
                            .cost = joined_cost,
                            .candidates = joined_candidates,
                            .room = row_room,
                            .half_inputs = (1u << most_parts) - 1,
                            .places = joined_places};

}  // namespace

Value join_columns(Graph& graph, const std::vector<ColumnRange>& parts) {
  Values values;
  std::vector<JoinedRange> ranges;
  check(parts.size() <= most_parts, "[join_columns] takes {} parts at most, not {}", most_parts, parts.size());
  for (const auto& [value, first, count, repeat] : parts) {
    const int64_t columns = graph.shape(value).columns();
    if (parts.size() == 1 && first == 0 && (count == 0 || count == columns)) return value;
    values.push_back(value);
    ranges.push_back({first, count > 0 ? count : columns - first, repeat});
  }
  return graph.apply(join_columns_op, values, joined_attributes(ranges));
}

bool is_join_columns(const Node& node) { return node.op == &join_columns_op; }

ColumnRange joined_range(const Node& node, size_t i) {
  const JoinedPart part(node, i);
  return {node.inputs[i], part.first, part.count, part.repeat};
}

Value slice(Graph& graph, Value x, int64_t first, int64_t count) {
  if (first == 0 && count == graph.shape(x).columns()) return x;
  return graph.apply(slice_op, {x}, {{"first", static_cast<double>(first)}, {"count", static_cast<double>(count)}});
}

bool is_slice(const Node& node) { return node.op == &slice_op; }

}  // namespace vkformer

VKFORMER_OPS(slice, &vkformer::slice_op, &vkformer::slice_backward_op, &vkformer::join_columns_op)
