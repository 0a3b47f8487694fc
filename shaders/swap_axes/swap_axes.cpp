#include "shaders/swap_axes/swap_axes.h"

#include "shaders/common/rows.h"
#include "shaders/common/stream.h"
#include "shaders/reshape/reshape.h"
#include "shaders/swap_axes/swap_axes.args.h"

namespace vkformer {
namespace {

/// x as [N, A, B, D], D in 32-bit words: a float, or two floats of 16 bits, which are only moved.
struct Layout {
  int64_t n = 1, a, b, d = 1;

  explicit Layout(const Node& node) {
    const Shape& x = node.in(0);
    const int axis = static_cast<int>(node.integer("first_axis"));
    a = x[axis];
    b = x[axis + 1];
    for (int i = 0; i < axis; ++i) n *= x[i];
    for (int i = axis + 2; i < x.rank(); ++i) d *= x[i];
    if (is_half(node.input_types[0].dtype)) d /= 2;
  }
  int64_t rows() const { return n * a * b; }
};

Shape swapped(const Shape& x, int64_t first_axis) {
  check(first_axis >= 0 && first_axis + 1 < x.rank(), "[swap_axes] x is {}, it has no axes {} and {}", x.to_string(),
        first_axis, first_axis + 1);
  std::vector<int64_t> dimensions(x.dimensions().begin(), x.dimensions().end());
  std::swap(dimensions[static_cast<size_t>(first_axis)], dimensions[static_cast<size_t>(first_axis + 1)]);
  return Shape(dimensions);
}

Types infer(const Node& node) {
  const auto& [x, dtype] = node.input_types[0];
  const int64_t first_axis = node.integer("first_axis");
  check(dtype != DType::i32, "[swap_axes] x is i32, it must have floats");
  const Shape y = swapped(x, first_axis);
  int64_t row = 1;
  for (int i = static_cast<int>(first_axis) + 2; i < x.rank(); ++i) row *= x[i];
  check(!is_half(dtype) || row % 2 == 0,
        "[swap_axes] x is {} {}, which moves in words of two: behind the swapped axes there must be an even number",
        name_of(dtype), x.to_string());
  return {{y, dtype}};
}

// A CPU driver computes a row's place once for all its columns; that pays unless rows are short.
constexpr int64_t least_cpu_row = 32;

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  const int64_t d = Layout(node).d;
  std::vector<std::string_view> flat;
  if (d % 4 == 0) flat.push_back("quads");
  flat.push_back("singles");
  const std::vector<std::string_view> rows = row_candidates(facts, d, RowUse::move);
  const bool rows_first = facts.is_cpu() && d >= least_cpu_row;
  std::vector<std::string_view> names = rows_first ? rows : flat;
  names.insert(names.end(), rows_first ? flat.begin() : rows.begin(), rows_first ? flat.end() : rows.end());
  return names;
}

void record(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const Layout layout(node);
  const uint64_t x = recorder.address(node.inputs[0]), y = recorder.address(node.outputs[0]);
  const auto a = static_cast<uint>(layout.a), b = static_cast<uint>(layout.b);
  check_rows("swap_axes", layout.rows(), layout.d);
  const bool quads = recorder.candidate() == "quads";
  if (!quads && recorder.candidate() != "singles") {
    const Rows rows = share_rows(facts, layout.rows(), layout.d);
    recorder.dispatch(row_launch(recorder, "swap_axes", RowUse::move, rows, layout.d, {x, y}),
                      SwapAxesArgs{.x = x, .y = y, .rows = rows, .a = a, .b = b});
    return;
  }
  const int64_t width = quads ? layout.d / 4 : layout.d, words = layout.rows() * width;
  const uint32_t lanes = stream_workgroup(facts), span = facts.is_cpu() ? 1024 : lanes;
  recorder.dispatch({.kernel = "swap_axes_flat",
                     .variant = recorder.candidate(),
                     .constants = {lanes, static_cast<uint32_t>(width)},
                     .groups = spread_groups(facts, groups_for(words, span))},
                    SwapAxesFlatArgs{.x = x, .y = y, .words = static_cast<uint>(words), .span = span, .a = a, .b = b});
}

// The way back is the same exchange.
Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}};
  return {swap_axes(graph, upstream[0], node.integer("first_axis"))};
}

void reference(const Node& node, Inputs in, Outputs out) {
  Layout l(node);
  l.d = node.in(0).elements() / l.rows();
  for (int64_t n = 0; n < l.n; ++n)
    for (int64_t i = 0; i < l.a; ++i)
      for (int64_t j = 0; j < l.b; ++j)
        for (int64_t c = 0; c < l.d; ++c)
          out[0][((n * l.b + j) * l.a + i) * l.d + c] = (*in[0])[((n * l.a + i) * l.b + j) * l.d + c];
}

std::vector<Case> cases() {
  const auto of = [](const Shape& x, double first_axis, DType dtype = DType::f32) {
    return Case{.inputs = {{.type = {x, dtype}}}, .attributes = {{"first_axis", first_axis}}};
  };
  return {of({1, 1}, 0),
          of({3, 7}, 0),
          of({37, 101}, 0),
          of({2, 3, 2, 2, 5, 7}, 4),
          of({2, 11, 5, 7}, 1),
          of({5, 1, 7, 7}, 1),
          of({5, 7, 1, 7}, 1),
          of({1031, 2, 7}, 0),
          of({2, 67, 31, 4}, 1),
          of({2, 13, 3, 3, 64}, 2),  // GPT-NeoX: [B, T, H, 3, D] -> [B, T, 3, H, D]
          of({62, 3, 64}, 0),        // XLNet: [B T, H, D] -> [H, B T, D]
          of({2, 3, 4, 8, 2, 1}, 0),
          of({2, 3, 5, 1031}, 1),
          of({2, 11, 5, 14}, 1, DType::f16),
          of({2, 13, 3, 128}, 1, DType::bf16)};
}

Cost cost(const Node& node) { return {.bytes = 2 * static_cast<double>(node.output_types[0].bytes()), .flops = 0}; }

const Op swap_axes_op = {.name = "swap_axes",
                         .infer = infer,
                         .record = record,
                         .gradient = gradient,
                         .reference = reference,
                         .cases = cases,
                         .cost = cost,
                         .candidates = candidates,
                         .room = row_room,
                         .half_inputs = 0b1};

}  // namespace

Value swap_axes(Graph& graph, Value x, int64_t first_axis) {
  const Shape& shape = graph.shape(x);
  const Shape target = swapped(shape, first_axis);
  const int axis = static_cast<int>(first_axis);
  if (shape[axis] == 1 || shape[axis + 1] == 1) return reshape(graph, x, target);
  return graph.apply(swap_axes_op, {x}, {{"first_axis", static_cast<double>(first_axis)}});
}

}  // namespace vkformer

VKFORMER_OPS(swap_axes, &vkformer::swap_axes_op)
