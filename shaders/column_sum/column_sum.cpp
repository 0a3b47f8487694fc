#include "shaders/column_sum/column_sum.h"

#include <algorithm>
#include <bit>

#include "shaders/column_sum/column_sum.args.h"
#include "shaders/common/rows.h"

namespace vkformer {

namespace {

struct Plan {
  uint32_t lanes, slices, pairs, column_groups;
  int64_t blocks, rows_per_block;
};

// One block of rows where the columns alone keep the device busy, otherwise as many as that takes: their sums are then
// added by a second dispatch.
Plan plan(const DeviceFacts& facts, int64_t rows, int64_t columns) {
  Plan p{};
  const int64_t all_pairs = (columns + 1) / 2;
  int64_t wanted_groups, least_rows;
  if (facts.is_cpu()) {
    p.lanes = std::bit_ceil(std::max(facts.subgroup_size, 4u));
    p.slices = 1;
    p.pairs = static_cast<uint32_t>(std::clamp<int64_t>(all_pairs / (8 * p.lanes), 1, 4));
    wanted_groups = 8;
    least_rows = 512;
  } else {
    p.lanes = 16;
    p.slices = std::bit_floor(std::min(facts.max_workgroup_size, 256u)) / p.lanes;
    p.pairs = 1;
    wanted_groups = 512;
    least_rows = 8 * p.slices;
  }
  p.column_groups = groups_for(all_pairs, p.lanes * p.pairs);
  const int64_t blocks =
      std::clamp<int64_t>(wanted_groups / p.column_groups, 1, std::max<int64_t>(rows / least_rows, 1));
  p.rows_per_block = (rows + blocks - 1) / blocks;
  p.blocks = p.rows_per_block > 0 ? (rows + p.rows_per_block - 1) / p.rows_per_block : 1;
  return p;
}

std::vector<std::string_view> variants(const DeviceFacts& facts) {
  if (!facts.int64) return {"f32"};
  if (facts.is_cpu()) return {"f32_int64", "f32"};
  return {"f32", "f32_int64"};
}

void dispatch(Recorder& recorder, std::string_view variant, const ColumnSum& sum, const Plan& p,
              const std::optional<Cost>& own_cost = {}) {
  check(sum.rows * sum.stride < int64_t{1} << 31,
        "[column_sum] {} rows of {} columns; kernels address at most 2^31 - 1", sum.rows, sum.stride);
  const uint64_t word = variant.ends_with("f16") ? 4 : 8;
  const bool paired = sum.stride % 2 == 0 && sum.columns % 2 == 0 && sum.x.address % word == 0;
  recorder.dispatch(Launch{.kernel = "column_sum",
                           .variant = variant,
                           .constants = {p.lanes, p.slices, p.pairs, paired},
                           .groups = {p.column_groups, static_cast<uint32_t>(p.blocks), 1},
                           .reads = {sum.x},
                           .writes = {sum.sums, sum.tail},
                           .cost = own_cost},
                    ColumnSumArgs{.x = sum.x.address,
                                  .sums = sum.sums.address,
                                  .tail = sum.tail.address,
                                  .rows = static_cast<uint>(sum.rows),
                                  .columns = static_cast<uint>(sum.columns),
                                  .stride = static_cast<uint>(sum.stride),
                                  .split = static_cast<uint>(sum.split),
                                  .rows_per_block = static_cast<uint>(p.rows_per_block)});
}

Types infer(const Node& node) {
  check(node.in(0).rank() >= 1 && node.input_types[0].dtype != DType::i32,
        "[column_sum] x is {} {}, needs floats [.., C]", name_of(node.input_types[0].dtype), node.in(0).to_string());
  return {{Shape{node.in(0).columns()}}};
}

std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  if (const DType x = node.input_types[0].dtype; is_half(x)) return {name_of(x)};
  return variants(facts);
}

int64_t scratch(const Node& node, const DeviceFacts& facts, std::string_view) {
  const Plan p = plan(facts, node.in(0).rows(), node.in(0).columns());
  return p.blocks > 1 ? p.blocks * node.out(0).elements() * size_of(DType::f32) : 0;
}

void record(Recorder& recorder, const Node& node) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns();
  const Plan p = plan(recorder.device(), rows, columns);
  const Region x = recorder.region(node.inputs[0]), sums = recorder.region(node.outputs[0]);
  const Region partial = recorder.scratch_region(0, static_cast<uint64_t>(p.blocks * columns * size_of(DType::f32)));
  dispatch(recorder, recorder.candidate(), {x, rows, columns, columns, p.blocks > 1 ? partial : sums, {}, columns}, p);
  if (p.blocks > 1) record_column_sum(recorder, {partial, p.blocks, columns, columns, sums, {}, columns});
}

void reference(const Node& node, Inputs in, Outputs out) {
  const int64_t rows = node.in(0).rows(), columns = node.in(0).columns();
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) out[0][c] += (*in[0])[r * columns + c];
}

std::vector<Case> cases() {
  const auto of = [](Shape shape, DType x = DType::f32) {
    return Case{.inputs = {{.type = {shape, x}}}, .attributes = {}, .reduction = shape.rows()};
  };
  return {of({1, 1}),
          of({1, 37}),
          of({67, 1}),
          of({5, 2}),
          of({3, 5, 7}),
          of({13, 64}),
          of({31, 130}),
          of({101, 511}),
          of({1031, 17}),
          of({2053, 16}),
          of({8191, 3}),
          of({4099, 34}),
          of({257, 1024}),
          of({101, 511}, DType::f16),
          of({31, 130}, DType::f16),
          of({4099, 34}, DType::bf16)};
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  return {.bytes = static_cast<double>(node.input_types[0].bytes() + node.output_types[0].bytes()), .flops = elements};
}

const Op column_sum_op = {.name = "column_sum",
                          .infer = infer,
                          .record = record,
                          .reference = reference,
                          .cases = cases,
                          .cost = cost,
                          .candidates = candidates,
                          .room = row_room,
                          .scratch = scratch,
                          .half_inputs = 0b1};

}  // namespace

Value column_sum(Graph& graph, Value x) { return graph.apply(column_sum_op, {x}); }
bool is_column_sum(const Node& node) { return node.op == &column_sum_op; }

void record_column_sum(Recorder& recorder, const ColumnSum& sum) {
  Plan p = plan(recorder.device(), sum.rows, sum.columns);
  p.blocks = 1;
  p.rows_per_block = sum.rows;
  const auto elements = static_cast<double>(sum.rows * sum.columns);
  dispatch(recorder, variants(recorder.device()).front(), sum, p, Cost{.bytes = 4 * elements, .flops = elements});
}

}  // namespace vkformer

VKFORMER_OPS(column_sum, &vkformer::column_sum_op)
