#include "shaders/resize_rows/resize_rows.h"

#include "shaders/common/stream.h"

namespace vkformer {

namespace {

// --- resize_rows: x -> y, which begins with x ---

Types infer(const Node& node) {
  const TensorType& x = node.input_types[0];
  const int64_t rows = node.integer("rows");
  check(x.dtype == DType::f32 || is_half(x.dtype), "[resize_rows] x is {}, needs floats", name_of(x.dtype));
  check(x.shape.rank() >= 1 && rows >= x.shape[0], "[resize_rows] {} has more than {} rows", x.shape.to_string(), rows);
  std::vector<int64_t> dimensions(x.shape.dimensions().begin(), x.shape.dimensions().end());
  dimensions[0] = rows;
  const TensorType y{Shape(dimensions), x.dtype};
  check(x.bytes() % 4 == 0 && y.bytes() % 4 == 0, "[resize_rows] {} {} to {} rows: both need an even number of values",
        name_of(x.dtype), x.shape.to_string(), rows);
  return {y};
}

// What is computed for it alone the plan puts there at once.
std::vector<int64_t> places(const Node&) { return {0}; }

void record(Recorder& recorder, const Node& node) {
  const uint64_t x = recorder.address(node.inputs[0]), y = recorder.address(node.outputs[0]);
  const auto kept = static_cast<uint64_t>(node.input_types[0].bytes());
  if (x != y) stream_copy(recorder, {x, kept}, {y, kept});
  recorder.fill({y + kept, static_cast<uint64_t>(node.output_types[0].bytes()) - kept}, 0);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  return {resize_rows(graph, upstream[0], node.in(0)[0])};
}

void reference(const Node& node, Inputs in, Outputs out) {
  for (int64_t i = 0; i < node.in(0).elements(); ++i) out[0][i] = (*in[0])[i];
}

Case resized(const Shape& x, int64_t rows, DType dtype = DType::f32) {
  return {.inputs = {{.type = {x, dtype}}}, .attributes = {{"rows", static_cast<double>(rows)}}};
}

std::vector<Case> cases() {
  return {resized({1}, 8), resized({3, 7}, 8), resized({5, 2, 3}, 67), resized({5, 6}, 8, DType::bf16)};
}

// In the place the plan gives it, x costs nothing.
Cost cost(const Node&) { return {}; }

const Op resize_rows_op = {.name = "resize_rows",
                           .infer = infer,
                           .record = record,
                           .gradient = gradient,
                           .reference = reference,
                           .cases = cases,
                           .cost = cost,
                           .half_inputs = 0b1,
                           .places = places};

// --- first_rows: x -> its first rows, which are its storage's ---

Types infer_first(const Node& node) {
  const TensorType& x = node.input_types[0];
  const int64_t rows = node.integer("rows");
  check(x.shape.rank() >= 1 && rows >= 1 && rows <= x.shape[0], "[first_rows] {} has no first {} rows",
        x.shape.to_string(), rows);
  std::vector<int64_t> dimensions(x.shape.dimensions().begin(), x.shape.dimensions().end());
  dimensions[0] = rows;
  return {{Shape(dimensions), x.dtype}};
}

// The output starts as all of the input's data.
void reference_first(const Node& node, Inputs, Outputs out) {
  out[0].data.resize(static_cast<size_t>(node.out(0).elements()));
}

std::vector<Case> cases_first() { return {resized({67, 2, 3}, 5), resized({8, 5}, 6, DType::f16)}; }

const Op first_rows_op = {.name = "first_rows",
                          .infer = infer_first,
                          .gradient = gradient,
                          .reference = reference_first,
                          .cases = cases_first,
                          .cost = cost,
                          .aliases = {0},
                          .half_inputs = 0b1};

}  // namespace

Value resize_rows(Graph& graph, Value x, int64_t rows) {
  const Shape& shape = graph.shape(x);
  if (shape.rank() >= 1 && shape[0] == rows) return x;
  const bool fewer = shape.rank() >= 1 && rows < shape[0];
  return graph.apply(fewer ? first_rows_op : resize_rows_op, {x}, {{"rows", static_cast<double>(rows)}});
}

bool is_resize_rows(const Node& node) { return node.op == &resize_rows_op; }

}  // namespace vkformer

VKFORMER_OPS(resize_rows, &vkformer::resize_rows_op, &vkformer::first_rows_op)
