#include "shaders/layer_norm/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "shaders/column_sum/column_sum.h"
#include "shaders/common/result_type.h"
#include "shaders/common/rows.h"
#include "shaders/layer_norm/layer_norm.args.h"

namespace vkformer {

namespace {

extern const Op layer_norm_backward_op;

void check_vector(const Node& node, size_t input, std::string_view name, int64_t size, std::string_view of) {
  check(node.in(input) == Shape{size}, "[{}] {} is {}, {} needs [{}]", node.op->name, name, node.in(input).to_string(),
        of, size);
}

// --- layer_norm: x, gain, bias? -> y, mean, reciprocal_std ---

Types infer(const Node& node) {
  const Shape& x = node.in(0);
  check(x.rank() >= 1, "[layer_norm] x needs at least one dimension");
  check_vector(node, 1, "gain", x.columns(), "x");
  if (node.has_input(2)) check_vector(node, 2, "bias", x.columns(), "x");
  const TensorType y{x, result_type(node)};
  check_whole_words(node, "y", y);
  return {y, {Shape{x.rows()}}, {Shape{x.rows()}}};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::hold, node.output_types[0].dtype);
}

void record(Recorder& recorder, const Node& node) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns();
  const auto in = [&](size_t i) { return recorder.address(node.inputs[i]); };
  const auto out = [&](size_t i) { return recorder.address(node.outputs[i]); };
  const uint64_t bias = node.has_input(2) ? in(2) : 0;
  const Rows shared = share_rows(recorder.device(), rows, columns);
  const uint outputs = (out(0) ? 1u : 0u) | (out(1) ? 2u : 0u) | (out(2) ? 4u : 0u);
  recorder.dispatch(
      row_launch(recorder, "layer_norm", RowUse::hold, shared, columns, {in(0), in(1), bias, out(0)}, {bias != 0}),
      LayerNormArgs{.x = in(0),
                    .gain = in(1),
                    .bias = bias,
                    .y = out(0),
                    .mean = out(1),
                    .reciprocal_std = out(2),
                    .rows = shared,
                    .epsilon = static_cast<float>(node.number("epsilon")),
                    .outputs = outputs,
                    .most = most_of_result(node)});
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  check(!upstream[1] && !upstream[2], "[layer_norm] the statistics are not differentiable");
  if (!upstream[0]) return {Value{}, Value{}, Value{}};
  const Values inputs = node.inputs, outputs = node.outputs;
  Values gradients = graph.add(layer_norm_backward_op, {upstream[0], inputs[0], inputs[1], outputs[1], outputs[2]});
  if (!inputs[2]) gradients[2] = Value{};
  return gradients;
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns();
  const auto n = static_cast<double>(columns);
  for (int64_t r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < columns; ++c) mean += (*in[0])[r * columns + c] / n;
    for (int64_t c = 0; c < columns; ++c) variance += std::pow((*in[0])[r * columns + c] - mean, 2) / n;
    const double std = std::sqrt(variance + node.number("epsilon"));
    for (int64_t c = 0; c < columns; ++c) {
      const double bias = in[2] ? (*in[2])[c] : 0;
      out[0][r * columns + c] =
          saturated(((*in[0])[r * columns + c] - mean) / std * (*in[1])[c] + bias, most_of_result(node));
    }
    out[1][r] = mean;
    out[2][r] = 1 / std;
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](Shape x, double low, double high, bool bias, double epsilon, DType result = DType::f32) {
    const Shape c{x.columns()};
    list.push_back({.inputs = {{.type = {x}, .low = low, .high = high},
                               {.type = {c}, .low = 0.5, .high = 1.5},
                               {.type = {c}, .absent = !bias}},
                    .attributes = {{"epsilon", epsilon}},
                    .reduction = x.columns()});
    set_result_type(list.back().attributes, result);
  };
  add({1, 1}, -1, 1, true, 0.5);  // one column: y is the bias
  add({2, 3, 7}, -1, 1, false, 1e-5);
  add({1031, 7}, -1, 1, false, 1e-5);
  add({13, 130}, -1, 1, true, 1e-12);
  add({5, 130}, 9, 11, true, 1e-5);  // a mean that dwarfs the deviations
  add({67, 130}, -3, 3, true, 1e-2);
  add({3, 1031}, -1, 1, true, 1e-5);  // more than a subgroup's lanes hold in registers
  add({67, 130}, -3, 3, true, 1e-2, DType::f16);
  add({13, 130}, -3, 3, true, 1e-2, DType::bf16);
  // Most values are beyond what an f16 holds.
  add({13, 130}, -1, 1, true, 1e-5);
  set_saturated_result(list.back().attributes, DType::f16);
  list.back().inputs[1] = {.type = {Shape{130}}, .low = 1e5, .high = 2e5};
  for (CaseInput& input : list.back().inputs) input.constant = true;
  return list;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  const auto matrices = static_cast<double>(node.input_types[0].bytes() + node.output_types[0].bytes());
  return {.bytes = matrices + 8 * static_cast<double>(node.in(0).columns()), .flops = 8 * elements};
}

// --- layer_norm_backward: upstream, x, gain, mean, reciprocal_std, addend? -> dx, dgain, dbias ---

Types infer_backward(const Node& node) {
  const Shape& x = node.in(1);
  check(node.in(0) == x && x.rank() >= 1, "[layer_norm_backward] upstream is {}, x is {}", node.in(0).to_string(),
        x.to_string());
  check_vector(node, 2, "gain", x.columns(), "x");
  check_vector(node, 3, "mean", x.rows(), "x");
  check_vector(node, 4, "reciprocal_std", x.rows(), "x");
  if (node.has_input(5))
    check(node.in(5) == x, "[layer_norm_backward] addend is {}, x is {}", node.in(5).to_string(), x.to_string());
  return {{x}, {Shape{x.columns()}}, {Shape{x.columns()}}};
}

std::vector<std::string_view> candidates_backward(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::hold, node.input_types[0].dtype);
}

int64_t scratch_backward(const Node& node, const DeviceFacts& facts, std::string_view) {
  return row_groups(share_rows_in_parts(facts, node.in(1).rows())) * 2 * node.in(1).columns() * size_of(DType::f32);
}

void record_backward(Recorder& recorder, const Node& node) {
  const int64_t rows = node.in(1).rows(), columns = node.in(1).columns();
  // A part is what one workgroup adds up of dgain and dbias.
  const Rows shared = share_rows_in_parts(recorder.device(), rows);
  const int64_t parts = row_groups(shared);
  const auto in = [&](size_t i) { return recorder.address(node.inputs[i]); };
  const uint64_t addend = node.has_input(5) ? in(5) : 0;
  const Region dx = recorder.region(node.outputs[0]);
  const Region dgain = recorder.region(node.outputs[1]), dbias = recorder.region(node.outputs[2]);
  const uint64_t bytes = static_cast<uint64_t>(columns * size_of(DType::f32));
  Region partial = recorder.scratch_region(0, 2 * bytes * static_cast<uint64_t>(parts));

  Launch launch = row_launch(recorder, "layer_norm_backward", RowUse::hold, shared, columns,
                             {in(0), in(1), in(2), addend, dx.address, partial.address}, {addend != 0});
  launch.writes = {dx, partial};
  recorder.dispatch(
      launch, LayerNormBackwardArgs{.upstream = in(0),
                                    .x = in(1),
                                    .gain = in(2),
                                    .mean = in(3),
                                    .reciprocal_std = in(4),
                                    .addend = addend,
                                    .dx = dx.address,
                                    .partial_sums = partial.address,
                                    .rows = shared,
                                    .outputs = (dx.address ? 1u : 0u) | (dgain.address || dbias.address ? 2u : 0u)});
  // A part is one row [dgain, dbias].
  if (dgain.address && dbias.address) {
    record_column_sum(recorder, {partial, parts, 2 * columns, 2 * columns, dgain, dbias, columns});
  } else if (dgain.address) {
    record_column_sum(recorder, {partial, parts, columns, 2 * columns, dgain, {}, columns});
  } else if (dbias.address) {
    const Region second = recorder.scratch_region(bytes, partial.bytes - bytes);
    record_column_sum(recorder, {second, parts, columns, 2 * columns, dbias, {}, columns});
  }
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const int64_t rows = node.in(1).rows(), columns = node.in(1).columns();
  const HostTensor &upstream = *in[0], &x = *in[1], &gain = *in[2], &mean = *in[3], &reciprocal_std = *in[4];
  for (int64_t r = 0; r < rows; ++r) {
    const auto normal = [&](int64_t c) { return (x[r * columns + c] - mean[r]) * reciprocal_std[r]; };
    double g_mean = 0, gx_mean = 0;
    for (int64_t c = 0; c < columns; ++c) {
      const double dy = upstream[r * columns + c];
      g_mean += dy * gain[c] / static_cast<double>(columns);
      gx_mean += dy * gain[c] * normal(c) / static_cast<double>(columns);
      out[1][c] += dy * normal(c);
      out[2][c] += dy;
    }
    for (int64_t c = 0; c < columns; ++c)
      out[0][r * columns + c] =
          reciprocal_std[r] * (upstream[r * columns + c] * gain[c] - g_mean - normal(c) * gx_mean) +
          (in.size() > 5 && in[5] ? (*in[5])[r * columns + c] : 0);
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  const auto add = [&](const Shape& x, bool adds, DType upstream = DType::f32) {
    list.push_back({.inputs = {{.type = {x, upstream}},
                               {.type = {x}, .low = -2, .high = 2},
                               {.type = {Shape{x.columns()}}, .low = 0.5, .high = 1.5},
                               {.type = {Shape{x.rows()}}, .low = -0.3, .high = 0.3},
                               {.type = {Shape{x.rows()}}, .low = 0.5, .high = 1.5},
                               {.type = {x}, .absent = !adds}},
                    .attributes = {},
                    .reduction = std::max(x.rows(), x.columns())});
  };
  add({1, 1}, false);
  add({2, 3, 7}, true);
  add({1031, 7}, true);
  add({211, 130}, true);
  add({3, 1031}, false);  // more than a subgroup's lanes hold in registers
  add({211, 130}, true, DType::f16);
  add({1031, 7}, true, DType::bf16);
  for (DType half : {DType::f16, DType::bf16}) add({13, 130}, false, half);
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(1).elements());
  const auto upstream = static_cast<double>(node.input_types[0].bytes());
  const double matrices = upstream + (node.has_input(5) ? 12 : 8) * elements;
  return {.bytes = matrices + 12 * static_cast<double>(node.in(1).columns()), .flops = 14 * elements};
}

const Op layer_norm_op = {.name = "layer_norm",
                          .infer = infer,
                          .record = record,
                          .gradient = gradient,
                          .reference = reference,
                          .cases = cases,
                          .cost = cost,
                          .candidates = candidates,
                          .room = row_room,
                          .in_place = true};

const Op layer_norm_backward_op = {.name = "layer_norm_backward",
                                   .infer = infer_backward,
                                   .record = record_backward,
                                   .reference = reference_backward,
                                   .cases = cases_backward,
                                   .cost = cost_backward,
                                   .candidates = candidates_backward,
                                   .room = row_room,
                                   .scratch = scratch_backward,
                                   .half_inputs = 0b1,
                                   .in_place = true,
                                   .addend = 5};

}  // namespace

Value layer_norm(Graph& graph, Value x, Value gain, Value bias, float epsilon, DType result) {
  Attributes attributes{{"epsilon", static_cast<double>(epsilon)}};
  set_result_type(attributes, result);
  return graph.apply(layer_norm_op, {x, gain, bias}, attributes);
}

bool is_layer_norm(const Node& node) { return node.op == &layer_norm_op; }

}  // namespace vkformer

VKFORMER_OPS(layer_norm, &vkformer::layer_norm_op, &vkformer::layer_norm_backward_op)
