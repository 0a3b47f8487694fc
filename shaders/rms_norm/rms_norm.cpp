#include "shaders/rms_norm/rms_norm.h"

#include <algorithm>
#include <cmath>

#include "shaders/column_sum/column_sum.h"
#include "shaders/common/result_type.h"
#include "shaders/common/rows.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/rms_norm/rms_norm.args.h"

namespace vkformer {

namespace {

extern const Op rms_norm_backward_op;

enum Input : size_t { in_x, in_gain, in_residual, in_scale };

/// Input `x` is f32 [.., C] with at least one column.
void check_matrix(const Node& node, size_t x) {
  check(node.in(x).rank() >= 1 && node.in(x).columns() >= 1 && node.input_types[x].dtype == DType::f32,
        "[{}] x is {} {}, needs f32 [.., C] with C >= 1", node.op->name, name_of(node.input_types[x].dtype),
        node.in(x).to_string());
}

void check_input(const Node& node, size_t input, std::string_view name, size_t x, const Shape& wanted) {
  check(node.input_types[input] == TensorType{wanted}, "[{}] {} is {} {}, x {} needs f32 {}", node.op->name, name,
        name_of(node.input_types[input].dtype), node.in(input).to_string(), node.in(x).to_string(), wanted.to_string());
}

/// Input `gain` [C], or [G, C] of x [.., G, C].
void check_gain(const Node& node, size_t gain, size_t x) {
  const Shape& matrix = node.in(x);
  const bool grouped = node.in(gain).rank() == 2 && matrix.rank() >= 2;
  check_input(node, gain, "gain", x, grouped ? Shape{matrix[-2], matrix.columns()} : Shape{matrix.columns()});
}

/// Rows of x go through the groups' gains, time and again.
int64_t groups_of(const Node& node, size_t gain) { return node.in(gain).rank() == 2 ? node.in(gain)[0] : 1; }

// --- rms_norm: x, gain, residual?, scale? -> y, reciprocal_rms ---

Types infer(const Node& node) {
  check_matrix(node, 0);
  const Shape& x = node.in(0);
  check_gain(node, in_gain, in_x);
  if (node.has_input(in_residual)) check_input(node, in_residual, "residual", 0, x);
  if (node.has_input(in_scale)) check_input(node, in_scale, "scale", 0, Shape{1});
  const TensorType y{x, result_type(node)};
  check_whole_words(node, "y", y);
  return {y, {Shape{x.rows()}}};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::hold, node.output_types[0].dtype);
}

void record(Recorder& recorder, const Node& node) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns();
  const uint64_t x = recorder.address(node.inputs[in_x]), gain = recorder.address(node.inputs[in_gain]);
  const uint64_t y = recorder.address(node.outputs[0]), reciprocal_rms = recorder.address(node.outputs[1]);
  const bool adds = node.has_input(in_residual), scales = node.has_input(in_scale);
  // What is absent is not used, but CPU drivers may read it.
  const uint64_t residual = adds ? recorder.address(node.inputs[in_residual]) : x;
  const int64_t groups = groups_of(node, in_gain);
  const Rows shared = share_rows(recorder.device(), rows / groups, columns);
  recorder.dispatch(
      row_launch(recorder, "rms_norm", RowUse::hold, shared, columns, {x, gain, residual, y}, {adds, scales}, groups),
      RmsNormArgs{.x = x,
                  .gain = gain,
                  .residual = residual,
                  .scale = scales ? recorder.address(node.inputs[in_scale]) : x,
                  .y = y,
                  .reciprocal_rms = reciprocal_rms,
                  .rows = shared,
                  .groups = static_cast<uint>(groups),
                  .epsilon = static_cast<float>(node.number("epsilon")),
                  .gain_offset = static_cast<float>(node.number("gain_offset")),
                  .outputs = (y ? 1u : 0u) | (reciprocal_rms ? 2u : 0u),
                  .most = most_of_result(node)});
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  check(!upstream[1], "[rms_norm] the factor of each row is not differentiable");
  if (!upstream[0]) return Values(node.inputs.size());
  const Node forward = node;  // adding nodes moves the graph's
  const Values& inputs = forward.inputs;
  const Value sum = forward.has_input(in_scale) ? scale_by(graph, upstream[0], inputs[in_scale]) : upstream[0];
  Values gradients = graph.add(rms_norm_backward_op, {sum, inputs[in_x], inputs[in_gain], forward.outputs[1]},
                               {{"gain_offset", forward.number("gain_offset")}});
  gradients.resize(inputs.size());
  if (forward.has_input(in_residual)) gradients[in_residual] = sum;
  return gradients;
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns(), groups = groups_of(node, in_gain);
  for (int64_t r = 0; r < rows; ++r) {
    double mean_square = 0;
    for (int64_t c = 0; c < columns; ++c)
      mean_square += std::pow((*in[0])[r * columns + c], 2) / static_cast<double>(columns);
    const double rms = std::sqrt(mean_square + node.number("epsilon"));
    for (int64_t c = 0; c < columns; ++c) {
      double y =
          (*in[in_x])[r * columns + c] / rms * (node.number("gain_offset") + (*in[in_gain])[r % groups * columns + c]);
      if (node.has_input(in_residual)) y += (*in[in_residual])[r * columns + c];
      if (node.has_input(in_scale)) y *= (*in[in_scale])[0];
      out[0][r * columns + c] = saturated(y, most_of_result(node));
    }
    out[1][r] = 1 / rms;
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](Shape x, double low, double high, double epsilon, DType result = DType::f32,
                       double gain_offset = 0) {
    list.push_back({.inputs = {{.type = {x}, .low = low, .high = high},
                               {.type = {Shape{x.columns()}}, .low = 0.5 - gain_offset, .high = 1.5 - gain_offset}},
                    .attributes = {{"epsilon", epsilon}, {"gain_offset", gain_offset}},
                    .reduction = x.columns()});
    set_result_type(list.back().attributes, result);
  };
  add({1, 1}, -1, 1, 0.5);
  add({7}, -1, 1, 1e-5);
  add({2, 3, 7}, -1, 1, 1e-6);
  add({1031, 7}, -1, 1, 1e-5);
  add({13, 130}, -1, 1, 0);
  add({5, 130}, 9, 11, 1e-5);
  add({67, 130}, -3, 3, 1e-2);
  add({17, 130}, -0.5, 0.5, 1);  // epsilon outweighs the squares
  add({3, 1031}, -1, 1, 1e-5);   // more than a subgroup's lanes hold in registers
  add({67, 130}, -3, 3, 1e-2, DType::f16);
  add({13, 130}, -3, 3, 1e-2, DType::bf16);
  add({13, 130}, -1, 1, 1e-5, DType::f32, 1);
  for (const bool scales : {false, true}) {
    add({13, 130}, -1, 1, 1e-5);
    list.back().inputs.push_back({.type = {Shape{13, 130}}});
    if (scales) list.back().inputs.push_back({.type = {Shape{1}}, .low = 0.5, .high = 1.5, .constant = true});
  }
  for (const Shape& gains : {Shape{5, 7}, Shape{3, 130}}) {
    add(gains[0] == 5 ? Shape{2, 211, 5, 7} : Shape{13, 3, 130}, -1, 1, 1e-5);
    list.back().inputs[1].type = {gains};
  }
  // Most values are beyond what an f16 holds.
  add({13, 130}, -1, 1, 1e-5);
  set_saturated_result(list.back().attributes, DType::f16);
  list.back().inputs[1] = {.type = {Shape{130}}, .low = 1e5, .high = 2e5};
  for (CaseInput& input : list.back().inputs) input.constant = true;
  return list;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  const auto matrices = static_cast<double>((node.has_input(in_residual) ? 2 : 1) * node.input_types[0].bytes() +
                                            node.output_types[0].bytes());
  return {.bytes = matrices + 4 * static_cast<double>(node.in(in_gain).elements()), .flops = 4 * elements};
}

// --- rms_norm_backward: upstream, x, gain, reciprocal_rms, addend? -> dx, dgain ---

Types infer_backward(const Node& node) {
  check_matrix(node, 1);
  const Shape& x = node.in(1);
  check(node.in(0) == x && node.input_types[0].dtype != DType::i32, "[rms_norm_backward] upstream is {} {}, x is {}",
        name_of(node.input_types[0].dtype), node.in(0).to_string(), x.to_string());
  check_gain(node, 2, 1);
  check_input(node, 3, "reciprocal_rms", 1, Shape{x.rows()});
  if (node.has_input(4)) check_input(node, 4, "addend", 1, x);
  return {{x}, {node.in(2)}};
}

std::vector<std::string_view> candidates_backward(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.in(0).columns(), RowUse::hold, node.input_types[0].dtype);
}

int64_t scratch_backward(const Node& node, const DeviceFacts& facts, std::string_view) {
  const Rows shared = share_rows_in_parts(facts, node.in(1).rows() / groups_of(node, 2));
  return row_groups(shared) * node.in(2).elements() * size_of(DType::f32);
}

void record_backward(Recorder& recorder, const Node& node) {
  const int64_t columns = node.in(1).columns(), groups = groups_of(node, 2), gains = groups * columns;
  // A part is what one workgroup of each group adds up of dgain.
  const Rows shared = share_rows_in_parts(recorder.device(), node.in(1).rows() / groups);
  const int64_t parts = row_groups(shared);
  const auto in = [&](size_t i) { return recorder.address(node.inputs[i]); };
  const uint64_t addend = node.has_input(4) ? in(4) : 0;
  const Region dx = recorder.region(node.outputs[0]), dgain = recorder.region(node.outputs[1]);
  const Region partial = recorder.scratch_region(0, static_cast<uint64_t>(parts * gains * size_of(DType::f32)));

  Launch launch = row_launch(recorder, "rms_norm_backward", RowUse::hold, shared, columns,
                             {in(0), in(1), in(2), addend, dx.address, partial.address}, {addend != 0}, groups);
  launch.writes = {dx, partial};
  recorder.dispatch(launch, RmsNormBackwardArgs{.upstream = in(0),
                                                .x = in(1),
                                                .gain = in(2),
                                                .reciprocal_rms = in(3),
                                                .addend = addend,
                                                .dx = dx.address,
                                                .partial_sums = partial.address,
                                                .rows = shared,
                                                .groups = static_cast<uint>(groups),
                                                .gain_offset = static_cast<float>(node.number("gain_offset")),
                                                .outputs = (dx.address ? 1u : 0u) | (dgain.address ? 2u : 0u)});
  if (dgain.address) record_column_sum(recorder, {partial, parts, gains, gains, dgain, {}, gains});
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const int64_t rows = node.in(1).rows(), columns = node.in(1).columns(), groups = groups_of(node, 2);
  const HostTensor &upstream = *in[0], &x = *in[1], &reciprocal_rms = *in[3];
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t first = r % groups * columns;  // of its gains
    const auto gain = [&](int64_t c) { return node.number("gain_offset") + (*in[2])[first + c]; };
    const auto normal = [&](int64_t c) { return x[r * columns + c] * reciprocal_rms[r]; };
    double gx_mean = 0;
    for (int64_t c = 0; c < columns; ++c) {
      const double dy = upstream[r * columns + c];
      gx_mean += dy * gain(c) * normal(c) / static_cast<double>(columns);
      out[1][first + c] += dy * normal(c);
    }
    for (int64_t c = 0; c < columns; ++c)
      out[0][r * columns + c] = reciprocal_rms[r] * (upstream[r * columns + c] * gain(c) - normal(c) * gx_mean) +
                                (in.size() > 4 && in[4] ? (*in[4])[r * columns + c] : 0);
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  const auto add = [&](const Shape& x, bool adds, DType upstream = DType::f32, double gain_offset = 0) {
    list.push_back({.inputs = {{.type = {x, upstream}},
                               {.type = {x}, .low = -2, .high = 2},
                               {.type = {Shape{x.columns()}}, .low = 0.5 - gain_offset, .high = 1.5 - gain_offset},
                               {.type = {Shape{x.rows()}}, .low = 0.5, .high = 1.5},
                               {.type = {x}, .absent = !adds}},
                    .attributes = {{"gain_offset", gain_offset}},
                    .reduction = std::max(x.rows(), x.columns())});
  };
  add({1, 1}, false);
  add({7}, true);
  add({2, 3, 7}, true);
  add({1031, 7}, true);
  add({211, 64}, false);
  add({67, 130}, true);
  add({3, 1031}, false);  // more than a subgroup's lanes hold in registers
  add({1031, 7}, true, DType::f16);
  add({67, 130}, true, DType::bf16);
  for (DType half : {DType::f16, DType::bf16}) add({13, 130}, false, half);
  add({67, 130}, true, DType::f32, 1);
  for (const Shape& gains : {Shape{5, 7}, Shape{3, 130}}) {
    add(gains[0] == 5 ? Shape{2, 211, 5, 7} : Shape{13, 3, 130}, true);
    list.back().inputs[2].type = {gains};
  }
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(1).elements());
  const auto vectors = static_cast<double>(2 * node.in(2).elements() + node.in(1).rows());
  const auto upstream = static_cast<double>(node.input_types[0].bytes());
  return {.bytes = upstream + (node.has_input(4) ? 12 : 8) * elements + 4 * vectors, .flops = 9 * elements};
}

const Op rms_norm_op = {.name = "rms_norm",
                        .infer = infer,
                        .record = record,
                        .gradient = gradient,
                        .reference = reference,
                        .cases = cases,
                        .cost = cost,
                        .candidates = candidates,
                        .room = row_room,
                        .in_place = true};

const Op rms_norm_backward_op = {.name = "rms_norm_backward",
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
                                 .addend = 4};

}  // namespace

Value rms_norm(Graph& graph, Value x, Value gain, float epsilon, DType result, float gain_offset) {
  Attributes attributes{{"epsilon", static_cast<double>(epsilon)}, {"gain_offset", static_cast<double>(gain_offset)}};
  set_result_type(attributes, result);
  return graph.apply(rms_norm_op, {x, gain}, attributes);
}

Value rms_norm_sum(Graph& graph, Value x, Value gain, float epsilon, float gain_offset, const NormedSum& sum) {
  Values inputs{x, gain, sum.residual};
  if (sum.scale) inputs.push_back(sum.scale);
  return graph.apply(rms_norm_op, std::move(inputs),
                     {{"epsilon", static_cast<double>(epsilon)}, {"gain_offset", static_cast<double>(gain_offset)}});
}

bool is_rms_norm(const Node& node) { return node.op == &rms_norm_op && !node.has_input(in_residual); }

}  // namespace vkformer

VKFORMER_OPS(rms_norm, &vkformer::rms_norm_op, &vkformer::rms_norm_backward_op)
