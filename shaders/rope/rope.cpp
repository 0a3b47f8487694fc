#include "shaders/rope/rope.h"

#include <algorithm>

#include "shaders/common/result_type.h"
#include "shaders/common/rows.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rope/rope.args.h"

namespace vkformer {
namespace {

/// The attributes of a rope node.
struct Layout {
  int64_t column, heads, head_width, half;
  bool interleaved, inverse;

  explicit Layout(const Node& node)
      : column(node.integer("column")),
        heads(node.integer("heads")),
        head_width(node.integer("head_width")),
        half(node.integer("rotary_width") / 2),
        interleaved(node.flag("interleaved")),
        inverse(node.flag("inverse")) {}

  /// Whether pairs of neighbours start at even columns everywhere.
  bool paired(int64_t columns) const {
    return columns % 2 == 0 && column % 2 == 0 && head_width % 2 == 0 && half % 2 == 0;
  }
};

Types infer(const Node& node) {
  check(node.inputs.size() == 3 && node.has_input(0) && node.has_input(1), "[rope] takes x, table and a position");
  check(node.input_types[0].dtype != DType::i32 && node.input_types[1].dtype == DType::f32,
        "[rope] x is {} and table {}, needs floats and f32", name_of(node.input_types[0].dtype),
        name_of(node.input_types[1].dtype));
  const Shape &x = node.in(0), &table = node.in(1);
  const int64_t column = node.integer("column"), heads = node.integer("heads");
  const int64_t head_width = node.integer("head_width"), rotary_width = node.integer("rotary_width");
  check(x.rank() == 3, "[rope] x is {}, needs [B, T, columns]", x.to_string());
  check(rotary_width >= 2 && rotary_width % 2 == 0 && rotary_width <= head_width,
        "[rope] rotary width {} is not even and between 2 and the head width {}", rotary_width, head_width);
  // The division avoids an overflow of heads * head_width.
  check(heads >= 1 && column >= 0 && rotary_width <= x.columns() - column &&
            heads - 1 <= (x.columns() - column - rotary_width) / head_width,
        "[rope] {} heads of {} columns from column {} on, of which {} turn, are not all in x {}", heads, head_width,
        column, rotary_width, x.to_string());
  check(table.rank() == 2 && table[0] >= 1 && table[1] == rotary_width, "[rope] table is {}, needs [P, {}]",
        table.to_string(), rotary_width);
  if (node.has_input(2))
    check(node.input_types[2].dtype == DType::i32 && (node.in(2) == Shape{1} || node.in(2) == Shape{x[0]}),
          "[rope] position is {} {}, needs i32 [1] or [{}]", name_of(node.input_types[2].dtype), node.in(2).to_string(),
          x[0]);
  check(!is_half(node.input_types[0].dtype) || Layout(node).paired(x.columns()),
        "[rope] x is {}, whose words hold two columns: its columns {}, the head width {}, the first column {} and half "
        "the rotary width {} must be even",
        name_of(node.input_types[0].dtype), x.columns(), head_width, column, rotary_width / 2);
  return {node.input_types[0]};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::move, node.input_types[0].dtype);
}

void record(Recorder& recorder, const Node& node) {
  const Layout layout(node);
  const Shape &x = node.in(0), &table = node.in(1);
  const int64_t rows = x.rows(), columns = x.columns();
  check_rows("rope", table[0], table[1]);
  const bool in_place = recorder.address(node.outputs[0]) == recorder.address(node.inputs[0]);
  const RopeArgs args{.x = recorder.address(node.inputs[0]),
                      .table = recorder.address(node.inputs[1]),
                      .position = recorder.address(node.inputs[node.has_input(2) ? 2 : 1]),
                      .y = recorder.address(node.outputs[0]),
                      .rows = share_rows(recorder.device(), rows, columns),
                      .positions = static_cast<int>(x[1]),
                      .table_rows = static_cast<int>(table[0]),
                      .offsets = node.has_input(2) ? static_cast<uint>(node.in(2).elements()) : 0,
                      .direction = layout.inverse ? -1.0f : 1.0f,
                      .column = static_cast<uint>(layout.column),
                      .heads = static_cast<uint>(layout.heads),
                      .copy = !in_place && 2 * layout.half * layout.heads < columns,
                      .most = most_of_result(node)};
  Launch launch =
      row_launch(recorder, "rope", RowUse::move, args.rows, columns, {args.x, args.table, args.y},
                 {static_cast<uint32_t>(layout.head_width), static_cast<uint32_t>(layout.half), layout.interleaved});
  uint32_t& paired = launch.constants[2];
  paired = paired && layout.paired(columns);
  recorder.dispatch(launch, args);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}, {}, {}};
  Attributes attributes;
  for (const auto& [name, value] : node.attributes.entries())
    attributes.set(name, name == "inverse" ? 1 - value : value);
  return {graph.apply(*node.op, {upstream[0], node.inputs[1], node.inputs[2]}, attributes), {}, {}};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const Layout layout(node);
  const HostTensor &x = *in[0], &table = *in[1];
  const int64_t columns = node.in(0).columns(), positions = node.in(0)[1], half = layout.half;
  const bool each = in[2] && node.in(2).elements() > 1;
  const double most = most_of_result(node);
  out[0].data = x.data;
  for (int64_t row = 0; row < node.in(0).rows(); ++row) {
    const int64_t offset = in[2] ? static_cast<int64_t>((*in[2])[each ? row / positions : 0]) : 0;
    const int64_t position = std::clamp<int64_t>(offset + row % positions, 0, node.in(1)[0] - 1);
    for (int64_t head = 0; head < layout.heads; ++head)
      for (int64_t i = 0; i < half; ++i) {
        const int64_t at = row * columns + layout.column + head * layout.head_width;
        const int64_t first = at + (layout.interleaved ? 2 * i : i);
        const int64_t second = at + (layout.interleaved ? 2 * i + 1 : i + half);
        const double cosine = table[position * 2 * half + i];
        const double sine = table[position * 2 * half + half + i] * (layout.inverse ? -1 : 1);
        out[0][first] = saturated(x[first] * cosine - x[second] * sine, most);
        out[0][second] = saturated(x[second] * cosine + x[first] * sine, most);
      }
  }
}

Attributes attributes_of(const RopeOptions& options, bool inverse) {
  return {{"heads", static_cast<double>(options.heads)},
          {"head_width", static_cast<double>(options.head_width)},
          {"rotary_width", static_cast<double>(options.rotary_width)},
          {"interleaved", options.interleaved},
          {"column", static_cast<double>(options.column)},
          {"inverse", inverse}};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  struct Positions {
    double low, high;
    bool absent = false;
    int64_t count = 1;
  };
  const auto add = [&](const Shape& x, int64_t heads, int64_t head_width, int64_t rotary_width, int64_t column,
                       int64_t table_rows, Positions position, std::initializer_list<bool> interleavings,
                       bool inverse = false) {
    for (const bool interleaved : interleavings)
      list.push_back({.inputs = {{.type = {x}},
                                 {.type = {Shape{table_rows, rotary_width}}, .constant = true},
                                 {.type = {Shape{position.count}, DType::i32},
                                  .low = position.low,
                                  .high = position.high,
                                  .absent = position.absent}},
                      .attributes = attributes_of({.heads = heads,
                                                   .head_width = head_width,
                                                   .rotary_width = rotary_width,
                                                   .interleaved = interleaved,
                                                   .column = column},
                                                  inverse)});
  };
  const Positions none{0, 0, true};
  add({1, 1, 2}, 1, 2, 2, 0, 1, none, {false});
  add({2, 3, 8}, 2, 4, 4, 0, 3, none, {false, true});              // all columns turn, two pairs at a time
  add({2, 7, 33}, 3, 7, 6, 5, 11, {0, 4}, {false, true});          // odd widths, columns on both sides
  add({3, 5, 40}, 2, 14, 12, 6, 13, {0, 8}, {false, true}, true);  // even widths, columns on both sides
  add({2, 5, 40}, 1, 14, 12, 14, 11, none, {false, true}, true);   // the keys of [query, key, ..]
  add({3, 5, 40}, 2, 14, 12, 14, 13, {0, 8}, {false, true});       // of the last head only what turns
  add({2, 5, 30}, 5, 6, 6, 0, 9, {2, 4}, {true});                  // even columns, an odd half
  add({1, 13, 576}, 9, 64, 64, 0, 17, {0, 4}, {false});
  add({1, 3, 1031}, 1, 1030, 514, 1, 3, none, {true});
  add({1031, 1, 8}, 1, 4, 4, 0, 2, {1, 1}, {false, true});
  add({3, 5, 40}, 2, 14, 12, 6, 13, {-3, 11, false, 3}, {false, true}, true);  // each sequence at its own position
  add({7, 3, 33}, 3, 7, 6, 5, 11, {0, 8, false, 7}, {false, true});
  add({2, 5, 8}, 2, 4, 4, 0, 7, {4, 6}, {false, true});    // the last rows are past the table
  add({2, 5, 8}, 2, 4, 4, 0, 3, {-3, -2}, {false, true});  // the first rows are before it
  add({1, 3, 40}, 1, 14, 12, 0, 3, {2147483647, 2147483647}, {false, true});
  add({1, 3, 40}, 1, 14, 12, 0, 3, {-2147483648.0, -2147483648.0}, {false, true});
  // 16 bits, with columns on both sides that are copied.
  const size_t wide = list.size();
  add({3, 5, 40}, 2, 14, 12, 6, 13, {0, 8}, {false, true}, true);
  for (size_t i = wide; i < list.size(); ++i) list[i].inputs[0].type.dtype = i == wide ? DType::f16 : DType::bf16;
  Case large = list[wide];  // turned out of an f16's range
  large.inputs[0].low = -most_f16;
  large.inputs[0].high = most_f16;
  set_saturated(large.attributes, DType::f16);
  list.push_back(std::move(large));
  return list;
}

/// In place, only the columns that turn are moved.
Cost cost(const Node& node) {
  const Layout layout(node);
  const auto turned = static_cast<double>(node.in(0).rows() * layout.heads * 2 * layout.half);
  const auto angles = static_cast<double>(std::min(node.in(0)[1], node.in(1)[0]) * 2 * layout.half);
  const auto moved = 2 * static_cast<double>(size_of(node.input_types[0].dtype)) * turned;
  return {.bytes = moved + 4 * angles, .flops = 3 * turned};
}

const Op rope_op = {.name = "rope",
                    .infer = infer,
                    .record = record,
                    .gradient = gradient,
                    .reference = reference,
                    .cases = cases,
                    .cost = cost,
                    .candidates = candidates,
                    .room = row_room,
                    .half_inputs = 0b1,
                    .in_place = true};

}  // namespace

bool is_rope(const Node& node) { return node.op == &rope_op; }

Value rope(Graph& graph, Value x, Value table, const RopeOptions& options) {
  if (options.position && graph.shape(options.position).rank() == 2) {  // each row is a sequence
    const Shape shape = graph.shape(x);
    RopeOptions rows = options;
    rows.position = reshape(graph, options.position, {graph.shape(options.position).elements()});
    return reshape(graph, rope(graph, reshape(graph, x, {shape.rows(), 1, shape.columns()}), table, rows), shape);
  }
  return graph.apply(rope_op, {x, table, options.position}, attributes_of(options, false));
}

}  // namespace vkformer

VKFORMER_OPS(rope, &vkformer::rope_op)
