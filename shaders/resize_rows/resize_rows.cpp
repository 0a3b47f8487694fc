#include "shaders/resize_rows/resize_rows.h"

#include <algorithm>

#include "runtime/recorder.h"

namespace vkformer {

namespace {

Types infer(const Node& node) {
  const TensorType& x = node.input_types[0];
  const int64_t rows = node.integer("rows");
  check(x.dtype == DType::f32 || is_half(x.dtype), "[resize_rows] x is {}, needs floats", name_of(x.dtype));
  check(x.shape.rank() >= 1 && rows >= 1, "[resize_rows] {} to {} rows: there must be one at least",
        x.shape.to_string(), rows);
  std::vector<int64_t> dimensions(x.shape.dimensions().begin(), x.shape.dimensions().end());
  dimensions[0] = rows;
  const TensorType y{Shape(dimensions), x.dtype};
  check(x.bytes() % 4 == 0 && y.bytes() % 4 == 0, "[resize_rows] {} {} to {} rows: both need an even number of values",
        name_of(x.dtype), x.shape.to_string(), rows);
  return {y};
}

void record(Recorder& recorder, const Node& node) {
  const uint64_t x = recorder.address(node.inputs[0]), y = recorder.address(node.outputs[0]);
  const auto from = static_cast<uint64_t>(node.input_types[0].bytes());
  const auto to = static_cast<uint64_t>(node.output_types[0].bytes());
  const uint64_t kept = std::min(from, to);
  recorder.copy({x, kept}, {y, kept});
  if (to > kept) recorder.fill({y + kept, to - kept}, 0);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  return {resize_rows(graph, upstream[0], node.in(0)[0])};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t kept = std::min(node.in(0).elements(), node.out(0).elements());
  for (int64_t i = 0; i < kept; ++i) out[0][i] = (*in[0])[i];
}

std::vector<Case> cases() {
  const auto resized = [](const Shape& x, int64_t rows, DType dtype) {
    return Case{.inputs = {{.type = {x, dtype}}}, .attributes = {{"rows", static_cast<double>(rows)}}};
  };
  return {resized({1}, 8, DType::f32), resized({3, 7}, 8, DType::f32), resized({67, 2, 3}, 5, DType::f32),
          resized({5, 6}, 8, DType::bf16), resized({8, 5}, 6, DType::f16)};
}

Cost cost(const Node& node) {
  const auto bytes = [](const TensorType& type) { return static_cast<double>(type.bytes()); };
  return {.bytes = std::min(bytes(node.input_types[0]), bytes(node.output_types[0])) + bytes(node.output_types[0])};
}

const Op resize_rows_op = {.name = "resize_rows",
                           .infer = infer,
                           .record = record,
                           .gradient = gradient,
                           .reference = reference,
                           .cases = cases,
                           .cost = cost,
                           .half_inputs = 0b1};

}  // namespace

Value resize_rows(Graph& graph, Value x, int64_t rows) {
  const Shape& shape = graph.shape(x);
  if (shape.rank() >= 1 && shape[0] == rows) return x;
  return graph.apply(resize_rows_op, {x}, {{"rows", static_cast<double>(rows)}});
}

bool is_resize_rows(const Node& node) { return node.op == &resize_rows_op; }

}  // namespace vkformer

VKFORMER_OPS(resize_rows, &vkformer::resize_rows_op)
