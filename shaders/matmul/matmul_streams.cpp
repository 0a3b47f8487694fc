#include "shaders/matmul/matmul_streams.h"

#include <algorithm>
#include <bit>

#include "runtime/quirks.h"
#include "shaders/matmul/matmul_block.args.h"
#include "shaders/matmul/matmul_dot.args.h"
#include "shaders/matmul/matmul_pack.args.h"

namespace vkformer {

namespace {

bool vectors_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  return shares_loads(facts) && lanes_legal(facts) && facts.int64 && facts.int16 && p.a_type == DType::f32;
}

uint32_t required_subgroup(const DeviceFacts& facts) { return facts.full_subgroups ? facts.subgroup_size : 0; }

/// Octal digits of the numbers below `count`: see uniform_number.glsl.
uint32_t digits_for(uint32_t count) { return (static_cast<uint32_t>(std::bit_width(count - 1)) + 2) / 3; }

/// Subgroups of a workgroup, at most 8, where `count` are needed: a workgroup costs lavapipe as much as storing a tile.
uint32_t shared_out(uint32_t count) { return groups_for(count, groups_for(count, 8)); }

/// Multiply-adds of vectors that matmul_dot may unroll: 4096 compile for eight seconds, once.
constexpr int64_t most_unrolled = 4096;

/// Values of k at a time: a divisor of K, or all where loops take away what lanes share. 0: there is no such.
int64_t dot_block(const MatmulProblem& p, const DeviceFacts& facts) {
  const int64_t subgroup = facts.subgroup_size;
  if (p.k % subgroup != 0) return 0;
  if (!uniform_loads_are_scalar(facts)) return p.m * p.k <= most_unrolled ? p.k : 0;
  int64_t block = 256;
  while (p.k % block != 0) block /= 2;
  return block;
}

/// Sums that fit into the registers beside the operands.
struct PanelShape {
  int64_t rows, columns;  ///< of a tile, and of a panel of a transposed a and of b
};

PanelShape panel_shape(const DeviceFacts& facts) {
  return {.rows = facts.cpu_registers < 32 ? 6 : 8, .columns = 2 * int64_t{facts.subgroup_size}};
}

/// Of an operand, [K, width], in panels.
int64_t panel_bytes(const MatmulProblem& p, int64_t width, int64_t panel) {
  return p.batch * groups_for(width, panel) * panel * p.k * size_of(DType::f32);
}

/// Launches of matmul_block: each unrolls at most 256 values of k, which compile for two seconds, once.
uint32_t block_count(const MatmulProblem& p) { return groups_for(p.k, 256); }

int64_t bytes_of_b(const MatmulProblem& p, const DeviceFacts& facts) {
  return panel_bytes(p, p.n, panel_shape(facts).columns);
}
int64_t bytes_of_a(const MatmulProblem& p, const DeviceFacts& facts) {
  return p.transpose_a ? panel_bytes(p, p.m, panel_shape(facts).rows) : 0;
}

/// Copies an operand, [batch, K, width] or transposed, to `target` in panels.
void pack(Recorder& recorder, const MatmulProblem& p, uint64_t operand, DType dtype, int64_t width, bool transposed,
          int64_t panel, const Region& target) {
  const DeviceFacts& facts = recorder.device();
  const uint32_t subgroup = facts.subgroup_size, chunks = groups_for(p.k, subgroup), subgroups = shared_out(chunks);
  const std::array<uint32_t, 3> groups = {groups_for(chunks, subgroups), groups_for(width, MATMUL_PACK_COLUMNS),
                                          static_cast<uint32_t>(p.batch)};
  const bool pairs = width % 2 == 0 && (transposed || (width >= 2 * int64_t{subgroup} && operand % 8 == 0)) &&
                     !packed_stores_abort(facts);
  const Region source{operand, static_cast<uint64_t>(p.batch * p.k * width * size_of(dtype))};
  recorder.dispatch({.kernel = "matmul_pack",
                     .variant = name_of(dtype),
                     .constants = {subgroup * subgroups, subgroup, subgroups, static_cast<uint32_t>(panel), transposed,
                                   (transposed ? p.k : width) >= subgroup, pairs,
                                   digits_for(std::max(groups[0], groups[1])), digits_for(groups[2])},
                     .groups = groups,
                     .subgroup_size = required_subgroup(facts),
                     .reads = {source},
                     .writes = {target},
                     .cost = Cost{.bytes = static_cast<double>(source.bytes + target.bytes)}},
                    MatmulPackArgs{.source = operand,
                                   .target = target.address,
                                   .k = static_cast<uint>(p.k),
                                   .width = static_cast<uint>(width),
                                   .panels = groups_for(width, panel),
                                   .digits = {0, 1, 2, 3, 4, 5, 6, 7}});
}

/// Multiplies operands in panels, in loops over k.
void multiply_panels(Recorder& recorder, const MatmulProblem& p, const MatmulArgs& args, uint32_t activation) {
  const DeviceFacts& facts = recorder.device();
  const PanelShape shape = panel_shape(facts);
  const auto step = static_cast<uint32_t>(std::min<int64_t>(p.k, 32));
  const int64_t row_blocks = groups_for(p.m, MATMUL_PANEL_TILES * shape.rows);
  recorder.dispatch({.kernel = "matmul_panel",
                     .constants = {activation, facts.subgroup_size, static_cast<uint32_t>(shape.rows),
                                   static_cast<uint32_t>(shape.columns / facts.subgroup_size), p.transpose_a,
                                   activation == 0 && (args.flags & MATMUL_RESIDUAL) != 0, step, args.k % step},
                     .groups = spread_groups(facts, static_cast<uint64_t>(p.batch * row_blocks * MATMUL_PANEL_TILES *
                                                                          groups_for(p.n, shape.columns))),
                     .subgroup_size = required_subgroup(facts)},
                    args);
}

/// The same without loops, in launches that each add a block of values of k.
void multiply_blocks(Recorder& recorder, const MatmulProblem& p, const MatmulArgs& args, uint32_t activation) {
  const DeviceFacts& facts = recorder.device();
  const PanelShape shape = panel_shape(facts);
  const uint32_t subgroup = facts.subgroup_size;
  const uint32_t row_tiles = groups_for(p.m, shape.rows), subgroups = shared_out(row_tiles);
  const std::array<uint32_t, 3> groups = {groups_for(p.n, shape.columns), groups_for(row_tiles, subgroups),
                                          static_cast<uint32_t>(p.batch)};
  const bool whole = p.n % shape.columns == 0;
  const bool pairs = whole && (args.y | args.pre_activation) % 8 == 0 && !packed_stores_abort(facts);
  const uint32_t block = groups_for(p.k, block_count(p));
  for (uint32_t first_k = 0; first_k < args.k; first_k += block) {
    const bool first = first_k == 0, activates = first_k + block >= args.k && activation != 0;
    const auto has = [&](uint flag) { return (args.flags & flag) != 0; };
    const bool starts_from_residual = first && activation == 0 && has(MATMUL_RESIDUAL);
    const bool adds_residual = activates && has(MATMUL_RESIDUAL);
    const bool has_bias = first && has(MATMUL_BIAS), keeps = activates && has(MATMUL_PRE_ACTIVATION);
    recorder.dispatch({.kernel = "matmul_block",
                       .constants = {activates ? activation : 0, subgroup * subgroups, subgroup, subgroups,
                                     static_cast<uint32_t>(shape.rows), static_cast<uint32_t>(shape.columns / subgroup),
                                     std::min(block, args.k - first_k), p.transpose_a, whole, pairs, adds_residual,
                                     // At least two, so that there are fewer pipelines.
                                     digits_for(std::max({groups[0], groups[1], 64u})), digits_for(groups[2])},
                       .groups = groups,
                       .subgroup_size = required_subgroup(facts)},
                      MatmulBlockArgs{.a = args.a,
                                      .b = args.b,
                                      .y = args.y,
                                      .before = starts_from_residual ? args.residual : args.y,
                                      .bias = has_bias ? args.bias : args.b,
                                      .pre_activation = keeps ? args.pre_activation : args.y,
                                      .residual = adds_residual ? args.residual : args.y,
                                      .m = args.m,
                                      .n = args.n,
                                      .k = args.k,
                                      .first_k = first_k,
                                      .row_tiles = row_tiles,
                                      .panels = groups[0],
                                      .scale = args.scale,
                                      .has_before = !first || starts_from_residual,
                                      .has_bias = has_bias,
                                      .has_pre_activation = keeps,
                                      .digits = {0, 1, 2, 3, 4, 5, 6, 7}});
  }
}

}  // namespace

bool dot_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  return vectors_legal(p, facts) && p.batch == 1 && p.m <= 4 && p.transpose_b && dot_block(p, facts) > 0;
}

void record_dot(Recorder& recorder, const MatmulProblem& p, const MatmulArgs& args, uint32_t activation,
                const DotNeighbours& neighbours) {
  const DeviceFacts& facts = recorder.device();
  const MatmulDotArgs dot{.a = args.a,
                          .b = args.b,
                          .y = args.y,
                          .pre_activation = args.pre_activation,
                          .bias = args.bias,
                          .residual = args.residual,
                          .gain = neighbours.gain,
                          .n = args.n,
                          .k = args.k,
                          .scale = args.scale,
                          .epsilon = neighbours.epsilon,
                          .flags = args.flags,
                          .digits = {0, 1, 2, 3, 4, 5, 6, 7}};
  const uint32_t groups = groups_for(p.n, facts.subgroup_size), block = static_cast<uint32_t>(dot_block(p, facts));
  recorder.dispatch({.kernel = "matmul_dot",
                     .variant = name_of(p.b_type),
                     .constants = {activation, facts.subgroup_size, args.m, block, block == args.k, digits_for(groups),
                                   neighbours.gain != 0, neighbours.gated},
                     .groups = spread_groups(facts, groups),
                     .subgroup_size = required_subgroup(facts)},
                    dot);
}

bool panels_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  const PanelShape shape = panel_shape(facts);
  const auto fits = [&](int64_t groups, int axis) { return groups <= facts.max_workgroups[axis]; };
  return vectors_legal(p, facts) && fits(groups_for(p.n, shape.columns), 0) &&
         fits(groups_for(p.k, facts.subgroup_size), 0) && fits(groups_for(p.m, shape.rows), 1) && fits(p.batch, 2) &&
         panel_scratch(p, facts) < (int64_t{1} << 31) * size_of(DType::f32);  // kernels count elements in 32 bits
}

int64_t panel_dispatches(const MatmulProblem& p, const DeviceFacts& facts) {
  return (p.transpose_a ? 2 : 1) + (uniform_loads_are_scalar(facts) ? 1 : block_count(p));
}

int64_t panel_scratch(const MatmulProblem& p, const DeviceFacts& facts) {
  return bytes_of_b(p, facts) + bytes_of_a(p, facts);
}

void record_panels(Recorder& recorder, const MatmulProblem& p, const MatmulArgs& args, uint32_t activation) {
  const DeviceFacts& facts = recorder.device();
  const PanelShape shape = panel_shape(facts);
  const auto b_bytes = static_cast<uint64_t>(bytes_of_b(p, facts)),
             a_bytes = static_cast<uint64_t>(bytes_of_a(p, facts));
  MatmulArgs panels = args;
  panels.b = recorder.scratch();
  pack(recorder, p, args.b, p.b_type, p.n, p.transpose_b, shape.columns, recorder.scratch_region(0, b_bytes));
  if (p.transpose_a) {
    panels.a = recorder.scratch() + b_bytes;
    pack(recorder, p, args.a, DType::f32, p.m, false, shape.rows, recorder.scratch_region(b_bytes, a_bytes));
  }
  if (uniform_loads_are_scalar(facts))
    multiply_panels(recorder, p, panels, activation);
  else
    multiply_blocks(recorder, p, panels, activation);
}

}  // namespace vkformer
