#include "shaders/head_norm/head_norm.h"

#include <algorithm>
#include <cmath>

#include "runtime/store_layout.h"
#include "shaders/column_sum/column_sum.h"
#include "shaders/common/rows.h"
#include "shaders/head_norm/head_norm.args.h"

namespace vkformer {

namespace {

extern const Op head_norm_backward_op;

/// Heads that lie side by side and have one gain.
struct Part {
  int64_t column, heads, index, width;
};

/// There may be none.
int64_t width_of_keys(const Node& node, size_t x) {
  return node.has_input(x + 2) ? node.in(x + 2).columns() : node.in(x + 1).columns();
}

/// The parts of x, and what is behind them.
struct Layout {
  int64_t rows, columns, heads, rest;
  Part q, k, plain;

  /// x is input `x` of the node, the gains follow it.
  Layout(const Node& node, size_t x)
      : rows(node.in(x).rows()),
        columns(node.in(x).columns()),
        heads(node.integer("heads") + node.integer("kv_heads") + node.integer("plain_heads")),
        q{0, node.integer("heads"), 0, node.in(x + 1).columns()},
        k{q.heads * q.width, node.integer("kv_heads"), q.heads, width_of_keys(node, x)},
        plain{k.column + k.heads * k.width, node.integer("plain_heads"), q.heads + k.heads, k.width} {
    rest = plain.column + plain.heads * plain.width;
  }

  const Part& part(size_t which) const { return which == 0 ? q : which == 1 ? k : plain; }

  /// The heads of one launch; the first also copies what is nobody's, unless that is there already.
  HeadColumnRange range(const Part& part, bool copies) const {
    return {.stride = static_cast<uint>(columns),
            .column = static_cast<uint>(part.column),
            .heads = static_cast<uint>(part.heads),
            .index = static_cast<uint>(part.index),
            .all_heads = static_cast<uint>(heads),
            .copy_column = static_cast<uint>(copies ? rest : columns)};
  }
};

/// Checks input `x` and the gains behind it.
void check_inputs(const Node& node, size_t x) {
  const Shape &shape = node.in(x), &q = node.in(x + 1);
  const bool has_keys = node.has_input(x + 2);
  check(shape.rank() >= 1 && node.input_types[x].dtype != DType::i32, "[{}] x is {} {}, needs floats [.., columns]",
        node.op->name, name_of(node.input_types[x].dtype), shape.to_string());
  for (const size_t gain : {x + 1, x + 2})
    check((gain == x + 2 && !has_keys) ||
              (node.in(gain).rank() == 1 && node.in(gain)[0] >= 1 && node.input_types[gain].dtype == DType::f32),
          "[{}] a gain is {} {}, needs f32 [D]", node.op->name, name_of(node.input_types[gain].dtype),
          node.in(gain).to_string());
  const int64_t width = q[0], k_width = width_of_keys(node, x);
  const int64_t heads = node.integer("heads"), kv_heads = node.integer("kv_heads"), columns = shape.columns();
  const int64_t plain_heads = node.integer("plain_heads");
  // The divisions avoid overflows.
  check(heads >= 1 && kv_heads >= (has_keys ? 1 : 0) && (has_keys || kv_heads + plain_heads == 0) && plain_heads >= 0 &&
            heads <= columns / width && kv_heads <= (columns - heads * width) / k_width &&
            plain_heads <= (columns - heads * width) / k_width - kv_heads,
        "[{}] {} heads of {} columns and {} + {} of {} are not all in x {}", node.op->name, heads, width, kv_heads,
        plain_heads, k_width, shape.to_string());
  check(!is_half(node.input_types[x].dtype) || (columns % 2 == 0 && width % 2 == 0 && k_width % 2 == 0),
        "[{}] x is {} {} with heads of {} and {} columns; its words hold two columns, so all must be even",
        node.op->name, name_of(node.input_types[x].dtype), shape.to_string(), width, k_width);
}

Launch launch_of(const Recorder& recorder, std::string_view kernel, const Layout& layout, const Part& part,
                 const Rows& shared, std::initializer_list<uint64_t> matrices) {
  check_rows(kernel, layout.rows, layout.columns);
  Launch launch = row_launch(recorder, kernel, RowUse::hold, shared, part.width, matrices);
  // Pairs of neighbours must start at even columns in every head.
  uint32_t& paired = launch.constants[2];
  paired = paired && layout.columns % 2 == 0 && part.column % 2 == 0;
  return launch;
}

std::vector<std::string_view> candidates_of(const Node& node, size_t x, const DeviceFacts& facts) {
  const Layout layout(node, x);
  return row_candidates(facts, std::max(layout.q.width, layout.k.width), RowUse::hold, node.input_types[x].dtype);
}

// --- head_norm: x, q gain, k gain -> y, reciprocal_rms ---

Types infer(const Node& node) {
  check_inputs(node, 0);
  const Layout layout(node, 0);
  return {node.input_types[0], {Shape{layout.rows, layout.heads}}};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return candidates_of(node, 0, facts);
}

void record(Recorder& recorder, const Node& node) {
  const Layout layout(node, 0);
  const uint64_t x = recorder.address(node.inputs[0]), y = recorder.address(node.outputs[0]);
  const uint64_t q_gain = recorder.address(node.inputs[1]);
  const uint64_t k_gain = recorder.address(node.inputs[node.has_input(2) ? 2 : 1]);
  const uint64_t reciprocal_rms = recorder.address(node.outputs[1]);
  // Of all heads of a part, the first so many are queries; plain ones, which have no gain, are the last.
  const auto dispatch = [&](const Part& part, int64_t q_heads, int64_t plain_heads, bool copies) {
    const Rows shared = share_rows(recorder.device(), layout.rows * part.heads, part.width);
    recorder.dispatch(launch_of(recorder, "head_norm", layout, part, shared, {x, q_gain, k_gain, y}),
                      HeadNormArgs{.x = x,
                                   .q_gain = q_gain,
                                   .k_gain = k_gain,
                                   .y = y,
                                   .reciprocal_rms = reciprocal_rms,
                                   .rows = shared,
                                   .range = layout.range(part, copies),
                                   .q_heads = static_cast<uint>(q_heads),
                                   .gain_heads = static_cast<uint>(part.heads - plain_heads),
                                   .epsilon = static_cast<float>(node.number("epsilon")),
                                   .gain_offset = static_cast<float>(node.number("gain_offset")),
                                   .outputs = (y ? 1u : 0u) | (reciprocal_rms ? 2u : 0u)});
  };
  const bool copies = x != y;
  const int64_t plain = layout.plain.heads;
  if (layout.q.width == layout.k.width) {
    dispatch({0, layout.heads, 0, layout.q.width}, layout.q.heads, plain, copies);
  } else {
    dispatch(layout.q, layout.q.heads, 0, copies);
    dispatch({layout.k.column, layout.k.heads + plain, layout.k.index, layout.k.width}, 0, plain, false);
  }
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  check(!upstream[1], "[head_norm] the factor of each head is not differentiable");
  if (!upstream[0]) return {{}, {}, {}};
  const Values inputs = node.inputs, outputs = node.outputs;
  Values gradients =
      graph.add(head_norm_backward_op, {upstream[0], inputs[0], inputs[1], inputs[2], outputs[1]}, node.attributes);
  gradients.resize(inputs.size());  // without keys there is none of their gain
  return gradients;
}

void reference(const Node& node, Inputs in, Outputs out) {
  const Layout layout(node, 0);
  out[0].data = in[0]->data;
  for (int64_t r = 0; r < layout.rows; ++r)
    for (size_t p = 0; p < 3; ++p) {
      const Part& part = layout.part(p);
      const auto gain = [&](int64_t c) { return p == 2 ? 1 : node.number("gain_offset") + (*in[1 + p])[c]; };
      for (int64_t h = 0; h < part.heads; ++h) {
        const int64_t first = r * layout.columns + part.column + h * part.width;
        double mean_square = 0;
        for (int64_t c = 0; c < part.width; ++c)
          mean_square += std::pow((*in[0])[first + c], 2) / static_cast<double>(part.width);
        const double rms = std::sqrt(mean_square + node.number("epsilon"));
        for (int64_t c = 0; c < part.width; ++c) out[0][first + c] = (*in[0])[first + c] / rms * gain(c);
        out[1][r * layout.heads + part.index + h] = 1 / rms;
      }
    }
}

struct Problem {
  Shape rows;
  int64_t heads, width, kv_heads, kv_width, rest;  ///< no kv_heads: there are no keys
  DType dtype = DType::f32;
  double epsilon = 1e-5, gain_offset = 0;
  int64_t plain_heads = 0;

  TensorType x() const {
    std::vector<int64_t> dimensions(rows.dimensions().begin(), rows.dimensions().end());
    dimensions.push_back(heads * width + (kv_heads + plain_heads) * kv_width + rest);
    return {Shape(dimensions), dtype};
  }
  Attributes attributes() const {
    return {{"heads", static_cast<double>(heads)},
            {"kv_heads", static_cast<double>(kv_heads)},
            {"plain_heads", static_cast<double>(plain_heads)},
            {"epsilon", epsilon},
            {"gain_offset", gain_offset}};
  }
  std::vector<CaseInput> gains() const {
    const double low = 0.5 - gain_offset, high = 1.5 - gain_offset;
    return {{.type = {Shape{width}}, .low = low, .high = high},
            {.type = {Shape{kv_width}}, .low = low, .high = high, .absent = kv_heads == 0}};
  }
  int64_t reduction() const { return std::max(width, kv_width); }
};

// One launch for both and one for each, heads that start at odd columns, with and without columns behind them.
const Problem problems[] = {
    {{1, 1}, 1, 1, 1, 1, 0, DType::f32, 0.5},
    {{2, 3}, 3, 7, 2, 7, 4},
    {{3, 5}, 4, 64, 2, 64, 128},
    {{67}, 2, 64, 1, 64, 0},
    {{13}, 1, 130, 1, 64, 64, DType::f32, 1e-2},
    {{3}, 1, 7, 2, 130, 131},
    {{2}, 1, 1031, 1, 1031, 7},
    {{3, 5}, 4, 64, 2, 64, 128, DType::f16},
    {{13}, 1, 130, 1, 64, 62, DType::bf16},
    {{5}, 4, 64, 2, 64, 0, DType::f32, 1e-5, 1},
    {{5}, 4, 64, 2, 64, 0, DType::f32, 1e-5, 1, 2},
    {{3}, 1, 7, 2, 130, 131, DType::f32, 1e-5, 0, 3},
    {{3, 5}, 2, 64, 0, 64, 128},
};

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Problem& problem : problems) {
    Case next{.inputs = {{.type = problem.x(), .low = -2, .high = 2}},
              .attributes = problem.attributes(),
              .reduction = problem.reduction()};
    for (CaseInput& gain : problem.gains()) next.inputs.push_back(gain);
    list.push_back(next);
  }
  return list;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  return {.bytes = 2 * static_cast<double>(node.input_types[0].bytes()), .flops = 4 * elements};
}

// --- head_norm_backward: upstream, x, q gain, k gain, reciprocal_rms -> dx, dq gain, dk gain ---

Types infer_backward(const Node& node) {
  check_inputs(node, 1);
  check(node.input_types[0] == node.input_types[1], "[head_norm_backward] upstream is {} {}, x is {} {}",
        name_of(node.input_types[0].dtype), node.in(0).to_string(), name_of(node.input_types[1].dtype),
        node.in(1).to_string());
  const Layout layout(node, 1);
  check(node.input_types[4] == TensorType{Shape{layout.rows, layout.heads}},
        "[head_norm_backward] reciprocal_rms is {}, needs f32 [{}, {}]", node.in(4).to_string(), layout.rows,
        layout.heads);
  Types types{node.input_types[1], {node.in(2)}};
  if (node.has_input(3)) types.push_back({node.in(3)});
  return types;
}

std::vector<std::string_view> candidates_backward(const Node& node, const DeviceFacts& facts) {
  return candidates_of(node, 1, facts);
}

int64_t parts_of(const DeviceFacts& facts, const Layout& layout, const Part& part) {
  return row_groups(share_rows_in_parts(facts, layout.rows * part.heads));
}

int64_t partial_bytes(const DeviceFacts& facts, const Layout& layout, const Part& part) {
  return align_part(parts_of(facts, layout, part) * part.width * size_of(DType::f32));
}

int64_t scratch_backward(const Node& node, const DeviceFacts& facts, std::string_view) {
  const Layout layout(node, 1);
  return partial_bytes(facts, layout, layout.q) + partial_bytes(facts, layout, layout.k);  // plain ones have no gain
}

void record_backward(Recorder& recorder, const Node& node) {
  const Layout layout(node, 1);
  const DeviceFacts& facts = recorder.device();
  const uint64_t upstream = recorder.address(node.inputs[0]), x = recorder.address(node.inputs[1]);
  const Region dx = recorder.region(node.outputs[0]);
  const auto take = [&](size_t p, const Part& part, int64_t offset) {
    const bool plain = p == 2;
    const uint64_t gain = recorder.address(node.inputs[plain ? 3 : 2 + p]);
    const Region dgain = plain ? Region{} : recorder.region(node.outputs[1 + p]);
    // A part is what one workgroup adds up of dgain.
    const Rows shared = share_rows_in_parts(facts, layout.rows * part.heads);
    const int64_t parts = parts_of(facts, layout, part);
    const auto bytes = static_cast<uint64_t>(partial_bytes(facts, layout, part));
    const Region partial = plain ? Region{} : recorder.scratch_region(static_cast<uint64_t>(offset), bytes);
    Launch launch = launch_of(recorder, "head_norm_backward", layout, part, shared,
                              {upstream, x, gain, dx.address, partial.address});
    launch.writes = {dx};
    if (dgain.address) launch.writes.push_back(partial);
    recorder.dispatch(launch, HeadNormBackwardArgs{
                                  .upstream = upstream,
                                  .x = x,
                                  .gain = gain,
                                  .reciprocal_rms = recorder.address(node.inputs[4]),
                                  .dx = dx.address,
                                  .partial_sums = partial.address,
                                  .rows = shared,
                                  .range = layout.range(part, p == 0 && upstream != dx.address),
                                  .gain_offset = static_cast<float>(node.number("gain_offset")),
                                  .outputs = (dx.address ? 1u : 0u) | (dgain.address ? 2u : 0u) | (plain ? 4u : 0u)});
    if (dgain.address) record_column_sum(recorder, {partial, parts, part.width, part.width, dgain, {}, part.width});
  };
  take(0, layout.q, 0);
  if (layout.k.heads > 0) take(1, layout.k, partial_bytes(facts, layout, layout.q));
  if (layout.plain.heads > 0 && dx.address) take(2, layout.plain, 0);
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const Layout layout(node, 1);
  const HostTensor &upstream = *in[0], &x = *in[1], &reciprocal_rms = *in[4];
  out[0].data = upstream.data;
  for (int64_t r = 0; r < layout.rows; ++r)
    for (size_t p = 0; p < 3; ++p) {
      const Part& part = layout.part(p);
      const auto gain = [&](int64_t c) { return p == 2 ? 1 : node.number("gain_offset") + (*in[2 + p])[c]; };
      for (int64_t h = 0; h < part.heads; ++h) {
        const int64_t first = r * layout.columns + part.column + h * part.width;
        const double factor = reciprocal_rms[r * layout.heads + part.index + h];
        double gx_mean = 0;
        for (int64_t c = 0; c < part.width; ++c) {
          const double dy = upstream[first + c], normal = x[first + c] * factor;
          gx_mean += dy * gain(c) * normal / static_cast<double>(part.width);
          if (p < 2) out[1 + p][c] += dy * normal;
        }
        for (int64_t c = 0; c < part.width; ++c)
          out[0][first + c] = factor * (upstream[first + c] * gain(c) - x[first + c] * factor * gx_mean);
      }
    }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  for (const Problem& problem : problems) {
    const TensorType x = problem.x();
    Case next{.inputs = {{.type = x}, {.type = x, .low = -2, .high = 2}},
              .attributes = problem.attributes(),
              .reduction = std::max(problem.reduction(), x.shape.rows() * std::max(problem.heads, problem.kv_heads))};
    for (CaseInput& gain : problem.gains()) next.inputs.push_back(gain);
    const int64_t heads = problem.heads + problem.kv_heads + problem.plain_heads;
    next.inputs.push_back({.type = {Shape{x.shape.rows(), heads}}, .low = 0.5, .high = 1.5});
    list.push_back(next);
  }
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(1).elements());
  return {.bytes = 3 * static_cast<double>(node.input_types[1].bytes()), .flops = 9 * elements};
}

const Op head_norm_op = {.name = "head_norm",
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

const Op head_norm_backward_op = {.name = "head_norm_backward",
                                  .infer = infer_backward,
                                  .record = record_backward,
                                  .reference = reference_backward,
                                  .cases = cases_backward,
                                  .cost = cost_backward,
                                  .candidates = candidates_backward,
                                  .room = row_room,
                                  .scratch = scratch_backward,
                                  .half_inputs = 0b11,
                                  .in_place = true};

}  // namespace

bool is_head_norm(const Node& node) { return node.op == &head_norm_op; }

Value head_norm(Graph& graph, Value x, const HeadNormPart& q, const HeadNormPart& k, float epsilon, float gain_offset,
                int64_t plain_heads) {
  return graph.apply(head_norm_op, {x, q.gain, k.gain},
                     {{"heads", static_cast<double>(q.heads)},
                      {"kv_heads", k.gain ? static_cast<double>(k.heads) : 0},
                      {"plain_heads", static_cast<double>(plain_heads)},
                      {"epsilon", static_cast<double>(epsilon)},
                      {"gain_offset", static_cast<double>(gain_offset)}});
}

}  // namespace vkformer

VKFORMER_OPS(head_norm, &vkformer::head_norm_op, &vkformer::head_norm_backward_op)
