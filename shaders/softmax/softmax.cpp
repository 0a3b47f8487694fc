#include "shaders/softmax/softmax.h"

#include <algorithm>
#include <cmath>

#include "shaders/common/rows.h"
#include "shaders/softmax/softmax.args.h"

namespace vkformer {

namespace {

extern const Op softmax_backward_op;

/// The first dimension that batches the mask.
int64_t batches(const Shape& x) { return x.rank() > 2 ? x[0] : 1; }

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::stream);
}

// --- softmax: x, mask? -> y ---

Types infer(const Node& node) {
  const Shape& x = node.in(0);
  check(node.input_types[0].dtype == DType::f32 && x.rank() >= 2 && x.elements() > 0,
        "[softmax] x is {}, needs f32 [.., T, S] with at least one element", x.to_string());
  check(std::isfinite(node.number("scale")), "[softmax] the scale is not finite");
  if (node.has_input(1)) {
    const Shape& mask = node.in(1);
    check(node.input_types[1].dtype == DType::i32 && mask.rank() == 3 && (mask[0] == 1 || mask[0] == batches(x)) &&
              (mask[1] == 1 || mask[1] == x[-2]) && mask[2] == x[-1],
          "[softmax] mask is {}, x {} needs i32 [{} or 1, {} or 1, {}]", mask.to_string(), x.to_string(), batches(x),
          x[-2], x[-1]);
  }
  return {{x}};
}

void record(Recorder& recorder, const Node& node) {
  const Shape& x = node.in(0);
  const int64_t rows = x.rows(), columns = x.columns();
  const bool masked = node.has_input(1);
  const uint64_t from = recorder.address(node.inputs[0]), to = recorder.address(node.outputs[0]);
  SoftmaxArgs args{.x = from,
                   .mask = masked ? recorder.address(node.inputs[1]) : 0,
                   .y = to,
                   .rows = share_rows(recorder.device(), rows, columns),
                   .queries = static_cast<uint>(x[-2]),
                   .batch_rows = static_cast<uint>(rows / batches(x)),
                   .mask_batch = 0,
                   .mask_row = 0,
                   .causal = node.flag("causal"),
                   .scale = static_cast<float>(node.number("scale"))};
  if (masked && node.in(1)[0] > 1) args.mask_batch = static_cast<uint>(node.in(1)[1] * columns);
  if (masked && node.in(1)[1] > 1) args.mask_row = static_cast<uint>(columns);
  recorder.dispatch(row_launch(recorder, "softmax", RowUse::stream, args.rows, columns, {from, to}, {masked}), args);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {Value{}, Value{}};
  const Value y = node.outputs[0];
  const double scale = node.number("scale");
  return {graph.apply(softmax_backward_op, {upstream[0], y}, {{"scale", scale}}), Value{}};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const Shape& x = node.in(0);
  const int64_t queries = x[-2], keys = x[-1], batch_rows = x.rows() / batches(x);
  for (int64_t r = 0; r < x.rows(); ++r) {
    const int64_t b = r / batch_rows, t = r % queries;
    const auto visible = [&](int64_t s) {
      if (node.flag("causal") && s > t + keys - queries) return false;
      if (!in[1]) return true;
      const Shape& mask = node.in(1);
      return (*in[1])[((mask[0] == 1 ? 0 : b) * mask[1] + (mask[1] == 1 ? 0 : t)) * keys + s] != 0;
    };
    const auto score = [&](int64_t s) { return node.number("scale") * (*in[0])[r * keys + s]; };
    double peak = -INFINITY, sum = 0;
    for (int64_t s = 0; s < keys; ++s)
      if (visible(s)) peak = std::max(peak, score(s));
    for (int64_t s = 0; s < keys; ++s)
      if (visible(s)) sum += std::exp(score(s) - peak);
    for (int64_t s = 0; s < keys; ++s) out[0][r * keys + s] = visible(s) ? std::exp(score(s) - peak) / sum : 0;
  }
}

struct Setting {
  Shape x;
  Shape mask = {};  ///< rank 0: none
  bool causal = false;
  double scale = 1;
  double bound = 3;      ///< of |x|
  double mask_high = 1;  ///< 0: it hides everything
};

Case case_of(const Setting& s) {
  return {.inputs = {{.type = {s.x}, .low = -s.bound, .high = s.bound},
                     {.type = {s.mask, DType::i32}, .low = 0, .high = s.mask_high, .absent = s.mask.rank() == 0}},
          .attributes = {{"scale", s.scale}, {"causal", s.causal ? 1.0 : 0.0}},
          .reduction = s.x.columns()};
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Setting& setting : std::vector<Setting>{
           {.x = {1, 1}},
           {.x = {3, 64}, .scale = -0.5},
           {.x = {2, 3, 7, 64}},
           {.x = {67, 64}},
           {.x = {7, 64}, .bound = 1e4},  // all but one vanish
           {.x = {2, 3, 64, 64}, .causal = true},
           {.x = {2, 3, 5, 64}, .causal = true, .scale = 0.25},
           {.x = {2, 69, 64}, .causal = true},  // the first five rows see nothing
           {.x = {1031, 7}, .mask = {1, 1, 7}},
           {.x = {3, 2, 9, 130}, .mask = {3, 1, 130}},
           {.x = {3, 2, 9, 130}, .mask = {3, 9, 130}, .scale = 0.125},
           {.x = {3, 2, 2, 5, 7}, .mask = {1, 5, 7}},
           {.x = {11, 67, 7}, .mask = {11, 67, 7}},  // some rows see nothing
           {.x = {5, 130}, .mask = {1, 1, 130}, .causal = true},
           {.x = {2, 3, 1, 130}, .mask = {2, 1, 130}, .causal = true},
           {.x = {2, 3, 5003}, .mask = {2, 3, 5003}},
           {.x = {2, 3, 7}, .mask = {2, 1, 7}, .mask_high = 0},
       })
    list.push_back(case_of(setting));
  return list;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  const double mask = node.has_input(1) ? static_cast<double>(node.in(1).elements()) : 0;
  return {.bytes = 4 * (2 * elements + mask), .flops = 6 * elements};
}

// --- softmax_backward: upstream, y -> dx ---

Types infer_backward(const Node& node) {
  check(node.in(0) == node.in(1) && node.in(0).rank() >= 1, "[softmax_backward] upstream is {}, y is {}",
        node.in(0).to_string(), node.in(1).to_string());
  return {{node.in(0)}};
}

void record_backward(Recorder& recorder, const Node& node) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns();
  const uint64_t upstream = recorder.address(node.inputs[0]), y = recorder.address(node.inputs[1]);
  const uint64_t dx = recorder.address(node.outputs[0]);
  const Rows shared = share_rows(recorder.device(), rows, columns);
  recorder.dispatch(
      row_launch(recorder, "softmax_backward", RowUse::stream, shared, columns, {upstream, y, dx}),
      SoftmaxBackwardArgs{
          .upstream = upstream, .y = y, .dx = dx, .rows = shared, .scale = static_cast<float>(node.number("scale"))});
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const HostTensor &upstream = *in[0], &y = *in[1];
  const int64_t columns = node.in(0).columns();
  for (int64_t r = 0; r < node.in(0).rows(); ++r) {
    double product = 0;
    for (int64_t i = r * columns; i < (r + 1) * columns; ++i) product += y[i] * upstream[i];
    for (int64_t i = r * columns; i < (r + 1) * columns; ++i)
      out[0][i] = node.number("scale") * y[i] * (upstream[i] - product);
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  for (const Shape& shape : {Shape{1, 1}, Shape{2, 3, 5, 7}, Shape{1031, 7}, Shape{67, 130}, Shape{2, 5003}}) {
    // Rows of y sum to about 1.
    const double share = 2 / static_cast<double>(shape.columns());
    list.push_back({.inputs = {{.type = {shape}}, {.type = {shape}, .low = 0, .high = share}},
                    .attributes = {{"scale", 0.25}},
                    .reduction = shape.columns()});
  }
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  return {.bytes = 12 * elements, .flops = 5 * elements};
}

const Op softmax_op = {.name = "softmax",
                       .infer = infer,
                       .record = record,
                       .gradient = gradient,
                       .reference = reference,
                       .cases = cases,
                       .cost = cost,
                       .candidates = candidates,
                       .room = row_room,
                       .in_place = true};

const Op softmax_backward_op = {.name = "softmax_backward",
                                .infer = infer_backward,
                                .record = record_backward,
                                .reference = reference_backward,
                                .cases = cases_backward,
                                .cost = cost_backward,
                                .candidates = candidates,
                                .room = row_room,
                                .in_place = true};

}  // namespace

Value softmax(Graph& graph, Value x, const SoftmaxOptions& options) {
  return graph.apply(softmax_op, {x, options.mask},
                     {{"scale", static_cast<double>(options.scale)}, {"causal", options.causal ? 1.0 : 0.0}});
}

}  // namespace vkformer

VKFORMER_OPS(softmax, &vkformer::softmax_op, &vkformer::softmax_backward_op)
