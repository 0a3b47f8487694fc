#include "shaders/matmul/software/panels.h"

#include <algorithm>

#include "shaders/matmul/software/matmul_block.args.h"
#include "shaders/matmul/software/matmul_pack.args.h"
#include "shaders/matmul/software/matmul_panel.args.h"
#include "shaders/matmul/software/shared_loads.h"

namespace vkformer {

namespace {

/// Sums that fit into the registers beside the operands.
struct PanelShape {
  int64_t rows, columns;  ///< of a tile, and of a panel of a transposed a and of b
};

PanelShape panel_shape(const DeviceFacts& facts) {
  return {.rows = facts.cpu_registers < 32 ? 6 : 8, .columns = 2 * int64_t{facts.subgroup_size}};
}

/// Values of k in each launch of matmul_block, which unrolls them: 256 compile for two seconds, once. Few sizes are few
/// pipelines, so all but a multiple of 64 are made up for by beginning the last block before the one before it ends;
/// what they share is zeros in the last block's panels. No block is longer than K.
std::vector<uint32_t> blocks_of(int64_t k) {
  std::vector<uint32_t> blocks;
  for (int64_t rest = k; rest > 0; rest -= blocks.back())
    blocks.push_back(rest > 128 && k >= 256 ? 256 : rest > 64 && k >= 128 ? 128 : 64);
  return blocks;
}

/// How long panels are, and their last block.
struct PanelDepth {
  int64_t all, last;
};

PanelDepth panel_depth(const MatmulProblem& p, const DeviceFacts& facts) {
  if (uniform_loads_are_scalar(facts))
    return {.all = int64_t{groups_for(p.k, MATMUL_PANEL_STEP)} * MATMUL_PANEL_STEP, .last = MATMUL_PANEL_STEP};
  PanelDepth depth{};
  for (const uint32_t block : blocks_of(p.k)) depth.all += block, depth.last = block;
  return depth;
}

/// Of an operand, [K, width], in panels.
int64_t panel_bytes(const MatmulProblem& p, const DeviceFacts& facts, int64_t width, int64_t panel) {
  return p.batch * groups_for(width, panel) * panel * panel_depth(p, facts).all * size_of(DType::f32);
}
int64_t bytes_of_b(const MatmulProblem& p, const DeviceFacts& facts) {
  return panel_bytes(p, facts, p.n, panel_shape(facts).columns);
}
int64_t bytes_of_a(const MatmulProblem& p, const DeviceFacts& facts) {
  return p.transpose_a ? panel_bytes(p, facts, p.m, panel_shape(facts).rows) : 0;
}

/// Subgroups of a workgroup, where `count` are needed: a workgroup costs lavapipe as much as storing a tile, and those
/// past the count are wasted.
uint32_t shared_out(uint32_t count) {
  uint32_t subgroups = 8;
  while (8 * (groups_for(count, subgroups) * subgroups - count) > count) subgroups /= 2;
  return subgroups;
}

uint32_t product_digits(const MatmulProblem& p) {
  return p.batch == 1 ? 0 : digits_for(static_cast<uint32_t>(p.batch));
}

/// Copies an operand, [batch, K, width] or transposed, to `target` in panels.
void pack(Recorder& recorder, const MatmulProblem& p, uint64_t operand, DType dtype, int64_t width, bool transposed,
          int64_t panel, const Region& target) {
  const DeviceFacts& facts = recorder.device();
  const PanelDepth depth = panel_depth(p, facts);
  const uint32_t subgroup = facts.subgroup_size, chunks = groups_for(depth.all, subgroup),
                 subgroups = shared_out(chunks);
  const std::array<uint32_t, 3> groups = {groups_for(chunks, subgroups), groups_for(width, MATMUL_PACK_COLUMNS),
                                          static_cast<uint32_t>(p.batch)};
  const bool encoded = is_blocks(dtype);  // each lane decodes its value
  const bool pairs = width % 2 == 0 &&
                     (transposed || (!encoded && width >= 2 * int64_t{subgroup} && operand % 8 == 0)) &&
                     !packed_stores_abort(facts);
  const TensorType type{transposed ? Shape{p.batch, width, p.k} : Shape{p.batch, p.k, width}, dtype};
  const Region source{operand, static_cast<uint64_t>(type.bytes())};
  recorder.dispatch({.kernel = "matmul_pack",
                     .variant = name_of(dtype),
                     .constants = {subgroup * subgroups, subgroup, subgroups, static_cast<uint32_t>(panel), transposed,
                                   !encoded && (transposed || width >= subgroup), pairs,
                                   digits_for(std::max(groups[0], groups[1])), product_digits(p)},
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
                                   .depth = static_cast<uint>(depth.all),
                                   .last_block = static_cast<uint>(depth.all - depth.last),
                                   .digits = {0, 1, 2, 3, 4, 5, 6, 7}});
}

/// Multiplies operands in panels, in loops over k.
void multiply_panels(Recorder& recorder, const MatmulWork& work) {
  const DeviceFacts& facts = recorder.device();
  const MatmulProblem& p = work.p;
  const PanelShape shape = panel_shape(facts);
  const int64_t row_blocks = groups_for(p.m, MATMUL_PANEL_TILES * shape.rows);
  recorder.dispatch({.kernel = "matmul_panel",
                     .constants = {work.activation, facts.subgroup_size, static_cast<uint32_t>(shape.rows),
                                   static_cast<uint32_t>(shape.columns / facts.subgroup_size), p.transpose_a,
                                   work.adds_residual_only()},
                     .groups = spread_groups(facts, static_cast<uint64_t>(p.batch * row_blocks * MATMUL_PANEL_TILES *
                                                                          groups_for(p.n, shape.columns))),
                     .subgroup_size = required_subgroup(facts)},
                    work.args);
}

/// The same without loops, in launches that each add a block of values of k.
void multiply_blocks(Recorder& recorder, const MatmulWork& work) {
  const DeviceFacts& facts = recorder.device();
  const MatmulProblem& p = work.p;
  const MatmulArgs& args = work.args;
  const PanelShape shape = panel_shape(facts);
  const uint32_t subgroup = facts.subgroup_size;
  const uint32_t row_tiles = groups_for(p.m, shape.rows), subgroups = shared_out(row_tiles);
  const std::array<uint32_t, 3> groups = {groups_for(p.n, shape.columns), groups_for(row_tiles, subgroups),
                                          static_cast<uint32_t>(p.batch)};
  const bool whole = p.n % shape.columns == 0;
  const bool pairs = whole && (args.y | args.pre_activation) % 8 == 0 && !packed_stores_abort(facts);
  const auto depth = static_cast<uint32_t>(panel_depth(p, facts).all);
  uint32_t first_k = 0;
  for (const uint32_t block : blocks_of(p.k)) {
    const bool first = first_k == 0, last = first_k + block >= args.k, activates = last && work.activation != 0;
    const bool starts_from_residual = first && work.adds_residual_only();
    const bool adds_residual = activates && work.has(MATMUL_RESIDUAL);
    const bool has_bias = first && work.has(MATMUL_BIAS), keeps = activates && work.has(MATMUL_PRE_ACTIVATION);
    // In panels of a the last block has zeros for what the block before has added; an a as it is is read from before.
    const uint64_t first_in_a =
        p.transpose_a ? first_k * static_cast<uint64_t>(shape.rows) : std::min(first_k, args.k - block);
    recorder.dispatch(
        {.kernel = "matmul_block",
         .constants = {activates ? work.activation : 0, subgroup * subgroups, subgroup, subgroups,
                       static_cast<uint32_t>(shape.rows), static_cast<uint32_t>(shape.columns / subgroup), block,
                       p.transpose_a, whole, pairs, adds_residual, digits_for(std::max(groups[0], groups[1])),
                       product_digits(p)},
         .groups = groups,
         .subgroup_size = required_subgroup(facts)},
        MatmulBlockArgs{.a = args.a + first_in_a * size_of(DType::f32),
                        .b = args.b + static_cast<uint64_t>(first_k * shape.columns) * size_of(DType::f32),
                        .y = args.y,
                        .before = starts_from_residual ? args.residual : args.y,
                        .bias = has_bias ? args.bias : args.b,
                        .pre_activation = keeps ? args.pre_activation : args.y,
                        .residual = adds_residual ? args.residual : args.y,
                        .m = args.m,
                        .n = args.n,
                        .a_length = p.transpose_a ? depth : args.k,
                        .b_length = depth,
                        .row_tiles = row_tiles,
                        .panels = groups[0],
                        .scale = args.scale,
                        .has_before = !first || starts_from_residual,
                        .has_bias = has_bias,
                        .has_pre_activation = keeps,
                        .digits = {0, 1, 2, 3, 4, 5, 6, 7}});
    first_k += block;
  }
}

/// Launches, copies included.
int64_t panel_dispatches(const MatmulProblem& p, const DeviceFacts& facts) {
  const auto multiplications = static_cast<int64_t>(uniform_loads_are_scalar(facts) ? 1 : blocks_of(p.k).size());
  return (p.transpose_a ? 2 : 1) + multiplications;
}

}  // namespace

bool panels_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  const PanelShape shape = panel_shape(facts);
  const auto fits = [&](int64_t groups, int axis) { return groups <= facts.max_workgroups[axis]; };
  return vectors_legal(p, facts) && p.k >= 64 && fits(groups_for(p.n, shape.columns), 0) &&
         fits(groups_for(panel_depth(p, facts).all, facts.subgroup_size), 0) && fits(groups_for(p.m, shape.rows), 1) &&
         fits(p.batch, 2) &&
         panel_scratch(p, facts) < (int64_t{1} << 31) * size_of(DType::f32);  // kernels count elements in 32 bits
}

// Enough rows and values of k to pay for the copy, which must not take memory that a step would miss, and enough
// work for each dispatch: with 2.5 M multiply-adds (128 x 128 x 768, A transposed) lanes were faster, with 6 M panels.
// Blocks are decoded on the way, which pays sooner than in tiles for GPUs.
bool panels_pay(const MatmulProblem& p, const DeviceFacts& facts) {
  if (is_blocks(p.b_type)) return p.m > 2 && panels_legal(p, facts) && panel_scratch(p, facts) <= int64_t{256} << 20;
  return panels_legal(p, facts) && p.m >= 32 && p.k >= 128 && panel_scratch(p, facts) <= int64_t{256} << 20 &&
         p.batch * p.m * p.n * p.k >= (int64_t{4} << 20) * panel_dispatches(p, facts);
}

int64_t panel_scratch(const MatmulProblem& p, const DeviceFacts& facts) {
  return bytes_of_b(p, facts) + bytes_of_a(p, facts);
}

void record_panels(Recorder& recorder, const MatmulWork& work) {
  const DeviceFacts& facts = recorder.device();
  const MatmulProblem& p = work.p;
  const PanelShape shape = panel_shape(facts);
  const auto b_bytes = static_cast<uint64_t>(bytes_of_b(p, facts)),
             a_bytes = static_cast<uint64_t>(bytes_of_a(p, facts));
  MatmulWork panels = work;
  panels.args.b = recorder.scratch();
  pack(recorder, p, work.args.b, p.b_type, p.n, p.transpose_b, shape.columns, recorder.scratch_region(0, b_bytes));
  if (p.transpose_a) {
    panels.args.a = recorder.scratch() + b_bytes;
    pack(recorder, p, work.args.a, DType::f32, p.m, false, shape.rows, recorder.scratch_region(b_bytes, a_bytes));
  }
  if (uniform_loads_are_scalar(facts))
    multiply_panels(recorder, panels);
  else
    multiply_blocks(recorder, panels);
}

}  // namespace vkformer
