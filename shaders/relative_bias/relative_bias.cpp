#include "shaders/relative_bias/relative_bias.h"

#include <algorithm>

#include "shaders/common/rows.h"
#include "shaders/relative_bias/relative_bias.args.h"

namespace vkformer {
namespace {

extern const Op relative_bias_backward_op;

constexpr int64_t limit = int64_t{1} << 28;  // of everything that relative positions are computed from

/// Of either op, whose inputs end with buckets_of and position.
void check_positions(const Node& node, size_t buckets_of) {
  const std::string_view name = node.op->name;
  const TensorType& buckets = node.input_types[buckets_of];
  check(buckets.dtype == DType::i32 && buckets.shape.rank() == 1 && buckets.shape[0] >= 1,
        "[{}] buckets_of is {} {}, needs i32 [R]", name, name_of(buckets.dtype), buckets.shape.to_string());
  if (node.has_input(buckets_of + 1)) {
    const TensorType& position = node.input_types[buckets_of + 1];
    check(position == TensorType{{1}, DType::i32}, "[{}] position is {} {}, needs i32 [1]", name,
          name_of(position.dtype), position.shape.to_string());
  }
  const int64_t zero = node.integer("zero"), count = buckets.shape[0];
  check(zero >= 0 && zero < count && count <= limit, "[{}] zero is {}, buckets_of has {} entries", name, zero, count);
}

/// Arguments of either op's launch.
Buckets bucket_arguments(const Recorder& recorder, const Node& node, size_t input, int64_t table_rows) {
  const bool has_position = node.has_input(input + 1);
  return {.of = recorder.address(node.inputs[input]),
          .position = recorder.address(node.inputs[has_position ? input + 1 : input]),
          .count = static_cast<int>(node.in(input)[0]),
          .zero = static_cast<int>(node.integer("zero")),
          .has_position = has_position,
          .table_rows = static_cast<int>(table_rows)};
}

/// Of the references: the bucket of key s for query t, or -1 where the table has none.
int64_t bucket_of(const Node& node, const HostTensor& buckets, const HostTensor* position, int64_t t, int64_t s,
                  int64_t table_rows) {
  const auto first = position ? static_cast<int64_t>((*position)[0]) : 0;
  const int64_t entries = buckets.type.shape[0];
  const int64_t at = std::clamp<int64_t>(s - (t + first) + node.integer("zero"), 0, entries - 1);
  const auto bucket = static_cast<int64_t>(buckets[at]);
  return bucket >= 0 && bucket < table_rows ? bucket : -1;
}

// --- relative_bias: table, buckets_of, position? -> y ---

Types infer(const Node& node) {
  check(node.inputs.size() == 3 && node.has_input(0) && node.has_input(1),
        "[relative_bias] takes table, buckets_of and a position");
  const Shape& table = node.in(0);
  check(node.input_types[0].dtype == DType::f32 && table.rank() == 2 && table.elements() > 0,
        "[relative_bias] table is {} {}, needs f32 [buckets, H]", name_of(node.input_types[0].dtype),
        table.to_string());
  check_positions(node, 1);
  const int64_t queries = node.integer("queries"), keys = node.integer("keys");
  check(queries >= 1 && queries <= limit && keys >= 1 && keys <= limit, "[relative_bias] there are {} queries, {} keys",
        queries, keys);
  return {{Shape{1, table[1], queries, keys}}};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.out(0).columns(), RowUse::move);
}

void record(Recorder& recorder, const Node& node) {
  const Shape &table = node.in(0), &y = node.out(0);
  check_rows("relative_bias", table[0], table[1]);
  const RelativeBiasArgs args{.table = recorder.address(node.inputs[0]),
                              .y = recorder.address(node.outputs[0]),
                              .buckets = bucket_arguments(recorder, node, 1, table[0]),
                              .rows = share_rows(recorder.device(), y.rows(), y.columns()),
                              .heads = static_cast<uint>(table[1]),
                              .queries = static_cast<uint>(y[-2])};
  recorder.dispatch(row_launch(recorder, "relative_bias", RowUse::move, args.rows, y.columns(), {args.y}), args);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}, {}, {}};
  const Attributes attributes = {{"buckets", static_cast<double>(node.in(0)[0])}, {"zero", node.number("zero")}};
  return {graph.apply(relative_bias_backward_op, {upstream[0], node.inputs[1], node.inputs[2]}, attributes), {}, {}};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t heads = node.in(0)[1], queries = node.out(0)[2], keys = node.out(0)[3];
  for (int64_t i = 0; i < node.out(0).elements(); ++i) {
    const int64_t h = i / (queries * keys), t = i / keys % queries, s = i % keys;
    const int64_t bucket = bucket_of(node, *in[1], in[2], t, s, node.in(0)[0]);
    if (bucket >= 0) out[0][i] = (*in[0])[bucket * heads + h];
  }
}

struct CaseShape {
  int64_t buckets, heads, queries, keys;
  int64_t entries, zero;           // of buckets_of
  double lowest = 0, highest = 0;  // position
  bool positioned = true;
};

// One bucket too low and one too high: they count as zeros.
CaseInput buckets_input(const CaseShape& c) {
  return {.type = {Shape{c.entries}, DType::i32}, .low = -1, .high = static_cast<double>(c.buckets)};
}

CaseInput position_input(const CaseShape& c) {
  return {.type = {Shape{1}, DType::i32}, .low = c.lowest, .high = c.highest, .absent = !c.positioned};
}

const CaseShape case_shapes[] = {
    {1, 1, 1, 1, 1, 0, 0, 0, false},
    {7, 7, 5, 7, 11, 4, 0, 0, false},  // a bucket for each relative position
    {32, 7, 37, 130, 166, 36, 0, 0, false},
    {32, 7, 67, 130, 17, 8, 0, 0, false},  // most are beyond the ends
    {8, 130, 3, 7, 11, 5, 0, 0, false},
    {13, 7, 1, 1031, 1031, 1030, 0, 1030},  // one query with a cache
    {13, 7, 3, 130, 160, 130, -9, 61},
    {5, 1, 263, 7, 269, 262, 0, 3},
    {3, 1031, 2, 7, 4, 1, 0, 1},
    {4, 7, 3, 7, 9, 3, 2147483647, 2147483647},
    {4, 7, 3, 7, 9, 3, -2147483648.0, -2147483648.0},
    {2, 70001, 1, 1, 3, 1, 0, 0, false},  // more workgroups than fit along one axis
};

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const CaseShape& c : case_shapes)
    list.push_back({.inputs = {{.type = {Shape{c.buckets, c.heads}}}, buckets_input(c), position_input(c)},
                    .attributes = {{"queries", static_cast<double>(c.queries)},
                                   {"keys", static_cast<double>(c.keys)},
                                   {"zero", static_cast<double>(c.zero)}}});
  return list;
}

Cost cost(const Node& node) {
  return {.bytes = 4 * static_cast<double>(node.out(0).elements() + node.in(0).elements()), .flops = 0};
}

// --- relative_bias_backward: upstream, buckets_of, position? -> dtable ---

int64_t diagonals_of(const Shape& upstream) { return upstream[-2] + upstream[-1] - 1; }

Types infer_backward(const Node& node) {
  const Shape& upstream = node.in(0);
  check(upstream.rank() == 4 && upstream[0] == 1 && upstream.elements() > 0,
        "[relative_bias_backward] upstream is {}, needs [1, H, T, S]", upstream.to_string());
  check_positions(node, 1);
  return {{Shape{node.integer("buckets"), upstream[1]}}};
}

std::vector<std::string_view> candidates_backward(const Node& node, const DeviceFacts& facts) {
  return row_candidates(facts, node.out(0).columns(), RowUse::move);
}

int64_t scratch(const Node& node, const DeviceFacts&, std::string_view) {
  return diagonals_of(node.in(0)) * node.in(0)[1] * size_of(DType::f32);
}

// First each diagonal of each head, which all have one bucket, then the diagonals of each bucket.
void record_backward(Recorder& recorder, const Node& node) {
  const Shape &upstream = node.in(0), &dtable = node.out(0);
  const int64_t heads = upstream[1], diagonals = diagonals_of(upstream);
  check_rows("relative_bias_backward", upstream.rows(), upstream.columns());
  check_rows("relative_bias_backward", diagonals, heads);
  const Region sums = recorder.scratch_region(0, static_cast<uint64_t>(diagonals * heads * size_of(DType::f32)));

  const uint32_t lanes = recorder.device().is_cpu() ? std::max(recorder.device().subgroup_size, 4u) : 64;
  const uint32_t groups_per_head = groups_for(diagonals, lanes);
  recorder.dispatch(Launch{.kernel = "relative_bias_diagonal",
                           .constants = {lanes},
                           .groups = spread_groups(recorder.device(), static_cast<uint64_t>(groups_per_head * heads)),
                           .reads = {recorder.region(node.inputs[0])},
                           .writes = {sums}},
                    RelativeBiasDiagonalArgs{.upstream = recorder.address(node.inputs[0]),
                                             .sums = sums.address,
                                             .heads = static_cast<uint>(heads),
                                             .queries = static_cast<uint>(upstream[2]),
                                             .keys = static_cast<uint>(upstream[3]),
                                             .groups_per_head = groups_per_head});

  const RelativeBiasBackwardArgs args{.sums = sums.address,
                                      .dtable = recorder.address(node.outputs[0]),
                                      .buckets = bucket_arguments(recorder, node, 1, dtable[0]),
                                      .rows = share_rows(recorder.device(), dtable[0], heads),
                                      .diagonals = static_cast<uint>(diagonals),
                                      .queries = static_cast<uint>(upstream[2])};
  Launch by_bucket =
      row_launch(recorder, "relative_bias_backward", RowUse::move, args.rows, heads, {args.sums, args.dtable});
  by_bucket.cost = {.bytes = static_cast<double>(sums.bytes), .flops = static_cast<double>(diagonals * heads)};
  recorder.dispatch(by_bucket, args);
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const int64_t heads = node.in(0)[1], queries = node.in(0)[2], keys = node.in(0)[3];
  for (int64_t i = 0; i < node.in(0).elements(); ++i) {
    const int64_t h = i / (queries * keys), t = i / keys % queries, s = i % keys;
    const int64_t bucket = bucket_of(node, *in[1], in[2], t, s, node.out(0)[0]);
    if (bucket >= 0) out[0][bucket * heads + h] += (*in[0])[i];
  }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  for (const CaseShape& c : case_shapes)
    list.push_back({.inputs = {{.type = {Shape{1, c.heads, c.queries, c.keys}}}, buckets_input(c), position_input(c)},
                    .attributes = {{"buckets", static_cast<double>(c.buckets)}, {"zero", static_cast<double>(c.zero)}},
                    .reduction = c.queries * c.keys});
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  return {.bytes = 4 * (elements + static_cast<double>(node.out(0).elements())), .flops = elements};
}

const Op relative_bias_op = {.name = "relative_bias",
                             .infer = infer,
                             .record = record,
                             .gradient = gradient,
                             .reference = reference,
                             .cases = cases,
                             .cost = cost,
                             .candidates = candidates,
                             .room = row_room};

const Op relative_bias_backward_op = {.name = "relative_bias_backward",
                                      .infer = infer_backward,
                                      .record = record_backward,
                                      .reference = reference_backward,
                                      .cases = cases_backward,
                                      .cost = cost_backward,
                                      .candidates = candidates_backward,
                                      .room = row_room,
                                      .scratch = scratch};

}  // namespace

Value relative_bias(Graph& graph, Value table, Value buckets_of, const RelativeBiasOptions& options) {
  return graph.apply(relative_bias_op, {table, buckets_of, options.position},
                     {{"queries", static_cast<double>(options.queries)},
                      {"keys", static_cast<double>(options.keys)},
                      {"zero", static_cast<double>(options.zero)}});
}

}  // namespace vkformer

VKFORMER_OPS(relative_bias, &vkformer::relative_bias_op, &vkformer::relative_bias_backward_op)
