#include "shaders/unfold/unfold.h"

#include "shaders/common/stream.h"
#include "shaders/unfold/unfold.args.h"

namespace vkformer {
namespace {

/// Sizes of an unfold node or, its tensors exchanged, of its gradient.
struct Problem {
  int64_t batches, length, channels, positions;
  Windows windows;

  /// `x`: the shape of what is unfolded.
  Problem(const Node& node, const Shape& x)
      : batches(x[0]),
        length(x[1]),
        channels(x[2]),
        windows{node.integer("size"), node.integer("stride"), node.integer("padding")} {
    positions = (length + 2 * windows.padding - windows.size) / windows.stride + 1;
  }
  Shape y() const { return {batches, positions, channels * windows.size}; }
  /// The position of window t's j-th row; of none below 0 or from `length` on.
  int64_t position(int64_t t, int64_t j) const { return t * windows.stride + j - windows.padding; }

  /// Calls `visit` with the places in x and y of each pair of elements that are one.
  template <class Visit>
  void each(Visit visit) const {
    for (int64_t row = 0; row < batches * positions; ++row)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t j = 0; j < windows.size; ++j) {
          const int64_t from = position(row % positions, j);
          if (from >= 0 && from < length)
            visit((row / positions * length + from) * channels + c, (row * channels + c) * windows.size + j);
        }
  }
};

void check_windows(const Node& node, const Shape& x) {
  check(x.rank() == 3 && node.input_types[0].dtype == DType::f32, "[{}] takes f32 [B, T, C], got {} {}", node.op->name,
        name_of(node.input_types[0].dtype), x.to_string());
  const int64_t size = node.integer("size"), stride = node.integer("stride"), padding = node.integer("padding");
  check(size >= 1 && stride >= 1 && padding >= 0 && size <= x[1] + 2 * padding,
        "[{}] windows of {} positions, every {}, don't fit into {} and {} of zeros on either side", node.op->name, size,
        stride, x.to_string(), padding);
}

void record_kernel(Recorder& recorder, const Node& node, const char* kernel, const Problem& problem) {
  const DeviceFacts& facts = recorder.device();
  const uint32_t lanes = stream_workgroup(facts);
  const int64_t elements = node.out(0).elements();
  check(std::max(elements, node.in(0).elements()) < int64_t{1} << 31, "[{}] {} is larger than 32 bits can index",
        node.op->name, node.out(0).to_string());
  recorder.dispatch({.kernel = kernel,
                     .constants = {lanes, static_cast<uint32_t>(problem.windows.size)},
                     .groups = spread_groups(facts, groups_for(elements, lanes))},
                    UnfoldArgs{.source = recorder.address(node.inputs[0]),
                               .target = recorder.address(node.outputs[0]),
                               .elements = static_cast<uint>(elements),
                               .x_positions = static_cast<uint>(problem.length),
                               .channels = static_cast<uint>(problem.channels),
                               .y_positions = static_cast<uint>(problem.positions),
                               .stride = static_cast<uint>(problem.windows.stride),
                               .padding = static_cast<uint>(problem.windows.padding)});
}

Cost cost(const Node& node) {
  return {.bytes = static_cast<double>(node.input_types[0].bytes() + node.output_types[0].bytes()), .flops = 0};
}

/// Windows that overlap, meet, leave positions out, and see padding alone.
struct Sizes {
  Shape x;
  Windows windows;
};
const Sizes sizes[] = {
    {{1, 1, 1}, {}},
    {{2, 17, 5}, {}},
    {{3, 22, 7}, {.stride = 2}},
    {{2, 9, 80}, {.size = 2, .stride = 3, .padding = 0}},
    {{1, 4, 3}, {.size = 1, .stride = 1, .padding = 3}},
    {{1, 131, 67}, {.size = 5, .stride = 2, .padding = 4}},
};

Attributes attributes_of(const Windows& windows) {
  return {{"size", static_cast<double>(windows.size)},
          {"stride", static_cast<double>(windows.stride)},
          {"padding", static_cast<double>(windows.padding)}};
}

// --- unfold_backward: dy -> dx ---

Shape unfolded(const Node& node) {
  return {node.in(0)[0], node.integer("length"), node.in(0)[2] / std::max<int64_t>(node.integer("size"), 1)};
}

Types backward_infer(const Node& node) {
  check(node.in(0).rank() == 3, "[unfold_backward] takes [B, T, C * size], got {}", node.in(0).to_string());
  const Shape x = unfolded(node);
  check_windows(node, x);
  check(Problem(node, x).y() == node.in(0), "[unfold_backward] {} has not the windows of {}", node.in(0).to_string(),
        x.to_string());
  return {{x, DType::f32}};
}

void backward_record(Recorder& recorder, const Node& node) {
  record_kernel(recorder, node, "unfold_backward", Problem(node, node.out(0)));
}

void backward_reference(const Node& node, Inputs in, Outputs out) {
  Problem(node, node.out(0)).each([&](int64_t x, int64_t y) { out[0][x] += (*in[0])[y]; });
}

std::vector<Case> backward_cases() {
  std::vector<Case> list;
  for (const auto& [x, windows] : sizes) {
    Attributes attributes = attributes_of(windows);
    attributes.set("length", static_cast<double>(x[1]));
    const int64_t positions = (x[1] + 2 * windows.padding - windows.size) / windows.stride + 1;
    list.push_back({.inputs = {{{Shape{x[0], positions, x[2] * windows.size}}}}, .attributes = attributes});
  }
  return list;
}

const Op unfold_backward_op = {.name = "unfold_backward",
                               .infer = backward_infer,
                               .record = backward_record,
                               .reference = backward_reference,
                               .cases = backward_cases,
                               .cost = cost};

// --- unfold: x -> y ---

Types infer(const Node& node) {
  check_windows(node, node.in(0));
  return {{Problem(node, node.in(0)).y(), DType::f32}};
}

void record(Recorder& recorder, const Node& node) {
  record_kernel(recorder, node, "unfold", Problem(node, node.in(0)));
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}};
  Attributes attributes = node.attributes;
  attributes.set("length", static_cast<double>(node.in(0)[1]));
  return {graph.apply(unfold_backward_op, {upstream[0]}, attributes)};
}

void reference(const Node& node, Inputs in, Outputs out) {
  Problem(node, node.in(0)).each([&](int64_t x, int64_t y) { out[0][y] = (*in[0])[x]; });
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const auto& [x, windows] : sizes) list.push_back({.inputs = {{{x}}}, .attributes = attributes_of(windows)});
  return list;
}

const Op unfold_op = {.name = "unfold",
                      .infer = infer,
                      .record = record,
                      .gradient = gradient,
                      .reference = reference,
                      .cases = cases,
                      .cost = cost};

}  // namespace

Value unfold(Graph& graph, Value x, const Windows& windows) {
  return graph.apply(unfold_op, {x}, attributes_of(windows));
}

}  // namespace vkformer

VKFORMER_OPS(unfold, &vkformer::unfold_op, &vkformer::unfold_backward_op)
