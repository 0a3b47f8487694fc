#include "shaders/matmul/matmul_kernels.h"

#include <algorithm>
#include <iterator>

#include "runtime/quirks.h"
#include "shaders/matmul/matmul.args.h"
#include "shaders/matmul/matmul_matrix.h"
#include "shaders/matmul/matmul_streams.h"

namespace vkformer {

namespace {

constexpr int64_t float_bytes = size_of(DType::f32);

// --- the shared-memory kernel ---

struct Tile {
  std::string_view name;
  uint32_t side;   ///< outputs along each side of a workgroup's tile
  uint32_t block;  ///< quads of outputs along each side of an invocation's share
  uint32_t invocations() const { return (side / 4 / block) * (side / 4 / block); }
  uint32_t shared_bytes() const { return 2 * 16 * (side / 4 + 1) * 16; }
};
constexpr Tile tiles[] = {{"tile128", 128, 2}, {"tile64", 64, 1}, {"tile32", 32, 1}};
constexpr const Tile& split_tile = tiles[1];

int64_t tile_count(const MatmulProblem& p, int64_t rows, int64_t columns) {
  return p.batch * groups_for(p.m, rows) * groups_for(p.n, columns);
}

bool fits(const Tile& tile, const DeviceFacts& facts) {
  return tile.invocations() <= facts.max_workgroup_size && tile.shared_bytes() <= facts.shared_memory;
}

// --- the register-tile kernel for small subgroups ---

struct LaneTile {
  uint32_t rows;
  uint32_t columns;  ///< per lane
};

/// The usual tile of a kernel, and values of k at a time.
struct LaneShape {
  LaneTile tile;
  uint32_t step;
};

/// Without AVX-512 there are half the registers, and loads lane by lane are code, too: the loop must be small. Measured
/// on Zen 3, 16 x 4 sums a lane are 1.3 (A transposed) to 1.6 times as fast as 32 x 8.
bool few_registers(const DeviceFacts& facts) { return facts.is_cpu() && facts.cpu_registers < 32; }

/// Nanoseconds for one tile and four values of k, fitted to lavapipe: multiply-adds, 64-bit or 32-bit lane loads.
/// `loads_a`: of one lane of A for every `subgroup` rows.
double step_time(const LaneTile& tile, uint32_t subgroup, double loads_a, bool pairs_b) {
  const double loads_b = tile.columns * (pairs_b ? 2.0 : 4.0);
  return 20 + 0.9 * tile.rows * tile.columns + 7 * (groups_for(tile.rows, subgroup) * loads_a + loads_b);
}

/// The tile that takes the least time by this estimate: sizes that are no multiple of the usual 32 x 64 tile waste less
/// on another. Every size is one more pipeline to compile, so another one must be worth it.
LaneTile choose_lane_tile(const MatmulProblem& p, const DeviceFacts& facts, int64_t splits, const LaneShape& shape,
                          double loads_a, bool pairs_b) {
  const uint32_t subgroup = facts.subgroup_size;
  const int64_t threads = facts.cpu_threads;
  const auto time = [&](const LaneTile& tile) {
    const int64_t count = tile_count(p, tile.rows, int64_t{tile.columns} * subgroup) * splits;
    const double steps = static_cast<double>(p.k) / static_cast<double>(4 * splits);
    const double one = 200 + 3.0 * tile.rows * tile.columns + steps * step_time(tile, subgroup, loads_a, pairs_b);
    return static_cast<double>((count + threads - 1) / threads) * one;
  };
  LaneTile best{static_cast<uint32_t>(std::min<int64_t>(p.m, shape.tile.rows)), shape.tile.columns};
  if (p.m > 8) best.rows = (best.rows + 7) / 8 * 8;
  double best_time = 0.95 * time(best);
  const bool even_columns = pairs_b && !p.transpose_b;
  const uint32_t most_rows = best.rows;
  for (uint32_t rows = std::min(most_rows, 8u); rows <= most_rows; rows += 8)
    for (uint32_t columns = 2; columns <= shape.tile.columns * 5 / 4; ++columns) {
      if (even_columns && columns % 2 != 0) continue;
      if (const double t = time({rows, columns}); t < best_time) best_time = t, best = {rows, columns};
    }
  return best;
}

// --- the kernel for matrix cores ---

constexpr const MatrixTile& split_matrix_tile = matrix_tiles[1];

bool matrix_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  return p.a_type == DType::f16 && p.b_type == DType::f16 && matrix_layout(split_matrix_tile, facts) &&
         facts.has_matrix_cores();
}

// --- splitting K ---

bool splits_k(std::string_view candidate) { return candidate.ends_with("_split"); }

/// How many ranges to cut K into so that the device has enough workgroups; at least 2.
int64_t split_count(const MatmulProblem& p, const DeviceFacts& facts, std::string_view candidate) {
  const bool lanes = candidate == "lanes_split";
  static_assert(split_matrix_tile.side == split_tile.side);
  const int64_t count = lanes ? tile_count(p, 32, 64) : tile_count(p, split_tile.side, split_tile.side);
  const int64_t wanted = (facts.is_cpu() ? 2 * int64_t{facts.cpu_threads} : 256) / count;
  return std::clamp<int64_t>(wanted, 2, std::max<int64_t>(p.k / 128, 2));
}

/// Split ranges start at multiples of 16, so that every kernel keeps its aligned loads.
int64_t range_length(const MatmulProblem& p, int64_t splits) { return ((p.k + splits - 1) / splits + 15) / 16 * 16; }

// --- launching ---

struct Work {
  const MatmulProblem& p;
  MatmulArgs args;
  uint32_t activation;

  int64_t a_row() const { return p.transpose_a ? p.m : p.k; }
  int64_t b_row() const { return p.transpose_b ? p.k : p.n; }
  /// Whether every stored row of an operand starts `bytes`-aligned.
  static bool aligned(uint64_t address, int64_t row, DType dtype, int64_t bytes) {
    return static_cast<int64_t>(address) % bytes == 0 && row * size_of(dtype) % bytes == 0;
  }
  bool a_aligned(int64_t bytes) const { return aligned(args.a, a_row(), p.a_type, bytes); }
  bool b_aligned(int64_t bytes) const { return aligned(args.b, b_row(), p.b_type, bytes); }
  /// Whether they start at whole quads of elements.
  bool a_quads() const { return a_aligned(4 * size_of(p.a_type)); }
  bool b_quads() const { return b_aligned(4 * size_of(p.b_type)); }
};

/// The variant that reads these operands: "f32", "f32_f16", "f32_bf16", "f16" or "bf16".
std::string_view variant_of(const MatmulProblem& p) {
  if (is_half(p.a_type)) return name_of(p.a_type);
  return p.b_type == DType::f16 ? "f32_f16" : p.b_type == DType::bf16 ? "f32_bf16" : "f32";
}

std::string_view long_word_variant_of(const MatmulProblem& p) {
  for (std::string_view name : {"f32_int64", "f32_f16_int64", "f32_bf16_int64", "f16_int64", "bf16_int64"})
    if (name.substr(0, name.size() - std::string_view("_int64").size()) == variant_of(p)) return name;
  fail("[matmul] there is no variant {}", variant_of(p));
}

/// What lavapipe likes: 32 rows, 64 columns, four values of k. Rows of a transposed B that lie a multiple of 4 KiB
/// apart share one set of the first-level cache: fewer of them, and more of each line before the next needs its place.
/// With few rows of A the product is bound by memory, and 16-bit rows are so short that 64 of them keep it too little
/// busy.
LaneShape lane_shape(const DeviceFacts& facts, const Work& work) {
  const MatmulProblem& p = work.p;
  const bool few_rows = p.m <= 8;
  const auto element = static_cast<uint32_t>(size_of(p.b_type));
  const auto shape = [&](uint32_t columns, uint32_t step) {
    return LaneShape{{32, columns / facts.subgroup_size}, step};
  };
  if (p.transpose_b && work.b_row() * element % 4096 == 0) return shape(32, few_rows ? 32 / element : 8);
  if (few_registers(facts)) return few_rows ? shape(64, 4) : LaneShape{{16, 4}, 4};
  return shape(p.transpose_b && few_rows && is_half(p.b_type) ? 128 : 64, 4);
}

/// See shaders/matmul/touch.glsl.
bool touch_pays(const MatmulProblem& p) { return p.transpose_a || (!p.transpose_b && p.m <= 8); }

Launch lanes_launch(const DeviceFacts& facts, const Work& work) {
  const MatmulProblem& p = work.p;
  const bool pairs_a = work.a_aligned(8), pairs_b = work.b_aligned(8);
  const uint32_t subgroup = facts.subgroup_size;
  const LaneShape shape = lane_shape(facts, work);
  const LaneTile tile = choose_lane_tile(p, facts, work.args.splits, shape, pairs_a ? 2 : 4, pairs_b);
  const int64_t count = tile_count(p, tile.rows, int64_t{tile.columns} * subgroup) * work.args.splits;
  return {
      .kernel = "matmul_lanes",
      .variant = facts.int64 ? long_word_variant_of(p) : variant_of(p),
      .constants = {work.activation, subgroup, tile.rows, tile.columns, p.transpose_a, p.transpose_b, pairs_a, pairs_b,
                    work.activation == 0 && (work.args.flags & MATMUL_RESIDUAL) != 0, shape.step, touch_pays(p)},
      .groups = spread_groups(facts, static_cast<uint64_t>(count)),
      .subgroup_size = facts.full_subgroups ? subgroup : 0};
}

/// 32 rows x 8 columns a lane, x 4 with few registers. Subgroups of 16 are AVX-512's: twice as many registers, for
/// twice the values of k.
Launch scalar_launch(const DeviceFacts& facts, const Work& work) {
  const MatmulProblem& p = work.p;
  const bool quads_a = work.a_quads(), pairs_b = work.b_aligned(8);
  const uint32_t subgroup = facts.subgroup_size;
  const LaneShape shape = few_registers(facts) ? LaneShape{{32, 4}, 4} : LaneShape{{32, 8}, subgroup > 8 ? 8u : 4u};
  const LaneTile tile = choose_lane_tile(p, facts, work.args.splits, shape, 0, pairs_b);
  const int64_t count = tile_count(p, tile.rows, int64_t{tile.columns} * subgroup) * work.args.splits;
  return {.kernel = "matmul_scalar",
          .variant = facts.int64 ? long_word_variant_of(p) : variant_of(p),
          .constants = {work.activation, subgroup, tile.rows, tile.columns, p.transpose_a, p.transpose_b, quads_a,
                        pairs_b, work.activation == 0 && (work.args.flags & MATMUL_RESIDUAL) != 0, shape.step},
          .groups = spread_groups(facts, static_cast<uint64_t>(count)),
          .subgroup_size = facts.full_subgroups ? subgroup : 0};
}

Launch tile_launch(const DeviceFacts& facts, const Work& work, const Tile& tile) {
  const MatmulProblem& p = work.p;
  const int64_t count = tile_count(p, tile.side, tile.side) * work.args.splits;
  return {.kernel = "matmul_tile",
          .variant = variant_of(p),
          .constants = {work.activation, tile.invocations(), tile.side, tile.block, p.transpose_a, p.transpose_b,
                        p.transpose_a && work.a_quads(), !p.transpose_b && work.b_quads()},
          .groups = spread_groups(facts, static_cast<uint64_t>(count))};
}

Launch matrix_launch(const DeviceFacts& facts, const Work& work, const MatrixTile& tile) {
  const MatmulProblem& p = work.p;
  const MatrixLayout layout = *matrix_layout(tile, facts);
  const int64_t count = tile_count(p, tile.side, tile.side) * work.args.splits;
  return {.kernel = "matmul_matrix",
          .variant = "f16",
          .constants = {work.activation, tile.invocations, facts.subgroup_size, tile.side, layout.down, layout.across,
                        layout.shape.m, layout.shape.n, layout.shape.k, p.transpose_a, p.transpose_b, work.a_quads(),
                        work.b_quads()},
          .groups = spread_groups(facts, static_cast<uint64_t>(count)),
          .subgroup_size = facts.subgroup_size};
}

Launch vector_launch(const DeviceFacts& facts, const Work& work) {
  const MatmulProblem& p = work.p;
  return {.kernel = "matmul_vector",
          .variant = variant_of(p),
          .constants = {work.activation, work.args.m, p.transpose_b, p.transpose_b && work.a_quads(), work.b_quads()},
          .groups = spread_groups(facts, static_cast<uint64_t>(tile_count(p, p.m, 32)))};
}

Launch direct_launch(const DeviceFacts& facts, const Work& work) {
  const MatmulProblem& p = work.p;
  return {.kernel = "matmul_direct",
          .variant = variant_of(p),
          .constants = {work.activation, p.transpose_a, p.transpose_b},
          .groups = spread_groups(facts, static_cast<uint64_t>(tile_count(p, 16, 64)))};
}

Launch launch_of(std::string_view candidate, const DeviceFacts& facts, const Work& work) {
  if (candidate == "lanes_scalar") return scalar_launch(facts, work);
  if (candidate.starts_with("lanes")) return lanes_launch(facts, work);
  if (candidate == "vector") return vector_launch(facts, work);
  if (candidate == "direct") return direct_launch(facts, work);
  if (candidate == "matrix64_split") return matrix_launch(facts, work, split_matrix_tile);
  for (const MatrixTile& tile : matrix_tiles)
    if (tile.name == candidate) return matrix_launch(facts, work, tile);
  if (splits_k(candidate)) return tile_launch(facts, work, split_tile);
  for (const Tile& tile : tiles)
    if (tile.name == candidate) return tile_launch(facts, work, tile);
  fail("[matmul] there is no kernel '{}'", candidate);
}

/// Enough rows and values of k to pay for the copy, which must not take memory that a step would miss, and enough
/// work for each dispatch: with 2.5 M multiply-adds (128 x 128 x 768, A transposed) lanes were faster, with 6 M panels.
bool panels_pay(const MatmulProblem& p, const DeviceFacts& facts) {
  return panels_legal(p, facts) && p.m >= 32 && p.k >= 128 && panel_scratch(p, facts) <= int64_t{256} << 20 &&
         p.batch * p.m * p.n * p.k >= (int64_t{4} << 20) * panel_dispatches(p, facts);
}

}  // namespace

bool lanes_legal(const DeviceFacts& facts) {
  const bool fixed = facts.full_subgroups || facts.min_subgroup_size == facts.max_subgroup_size;
  return facts.subgroup_shuffle && fixed && facts.subgroup_size >= 4 && facts.subgroup_size <= 16;
}

std::vector<std::string_view> matmul_candidates(const Node& node, const DeviceFacts& facts) {
  const MatmulProblem p = matmul_problem(node);
  const bool lanes = lanes_legal(facts), split = p.k >= 64;
  std::vector<std::string_view> names;
  const auto add = [&](bool legal, std::string_view name) {
    if (legal && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  // First what is best, then everything else that is legal.
  if (facts.is_cpu()) {
    add(dot_legal(p, facts) && p.m <= 2, "dot");
    add(lanes && facts.int64 && split && p.k >= 512 && tile_count(p, 16, 32) < facts.cpu_threads, "lanes_split");
    // Few rows of A share out what loading B costs: there the kernel with the better loads of B wins.
    const bool few_rows = facts.subgroup_size <= 8 ? p.m <= 8 : p.m == 1 && p.k % 1024 != 0;
    const bool scalar = lanes && facts.int64 && uniform_loads_are_scalar(facts) && !few_rows;
    add(panels_pay(p, facts), "panels");
    add(scalar, "lanes_scalar");
    add(lanes && facts.int64, "lanes");  // without, it is SwiftShader, which unrolls nothing
    add(true, "direct");
  }
  add(!p.transpose_a && p.m <= 8 && p.m * 4096 <= facts.shared_memory && facts.max_workgroup_size >= 256, "vector");
  // Where they are not emulated, matrix cores multiply f16 several times as fast as plain cores, which win only where a
  // block would be mostly padding. That is what they are made for, not what was measured: no GPU has run these kernels
  // yet, and `vkformer tune` decides by measurement.
  const bool matrix = matrix_legal(p, facts);
  const bool matrix128 = matrix && matrix_layout(matrix_tiles[0], facts);
  const bool prefer = matrix && !facts.is_cpu() && p.m >= 64 && p.n >= 64 && p.k >= 64;
  add(prefer && p.k >= 512 && tile_count(p, 64, 64) < 64, "matrix64_split");
  add(prefer && matrix128 && tile_count(p, 128, 128) >= 256, "matrix128");
  add(prefer, "matrix64");
  add(!facts.is_cpu() && fits(split_tile, facts) && p.k >= 512 && tile_count(p, 64, 64) < 64, "tile64_split");
  // Measured on a GPU of 132 multiprocessors: 64 x 64 is the best or within a tenth of it from 1024^3 to 4096^3. The
  // largest wins only with workgroups in plenty and both operands loaded four values at a time along the tile.
  const bool along_tile = p.transpose_a && p.m % 4 == 0 && p.n % 4 == 0;
  for (const Tile& tile : tiles) {
    const bool large = tile.side > split_tile.side;
    const int64_t enough = large ? 512 : 64;
    add(fits(tile, facts) && (!large || along_tile) && tile_count(p, tile.side, tile.side) >= enough, tile.name);
  }
  // Few workgroups: small tiles make the most of them. Mostly padding is no use; the smallest must do for everything.
  for (auto tile = std::rbegin(tiles); tile != std::rend(tiles); ++tile)
    add(fits(*tile, facts) && (tile->side == 32 || (p.m > tile->side / 4 && p.n > tile->side / 4)), tile->name);
  add(split && fits(split_tile, facts), "tile64_split");
  add(matrix, "matrix64");
  add(matrix128, "matrix128");
  add(matrix && split, "matrix64_split");
  add(lanes, "lanes");
  add(lanes, "lanes_scalar");
  add(lanes && split, "lanes_split");
  add(dot_legal(p, facts), "dot");
  add(panels_legal(p, facts), "panels");
  add(true, "direct");
  return names;
}

int64_t matmul_scratch(const Node& node, const DeviceFacts& facts, std::string_view candidate) {
  const MatmulProblem p = matmul_problem(node);
  if (candidate == "panels") return panel_scratch(p, facts);
  return splits_k(candidate) ? split_count(p, facts, candidate) * p.batch * p.m * p.n * float_bytes : 0;
}

void record_matmul(Recorder& recorder, const Node& node) {
  const MatmulProblem p = matmul_problem(node);
  const DeviceFacts& facts = recorder.device();
  const auto in = [&](size_t i) { return node.has_input(i) ? recorder.address(node.inputs[i]) : 0; };
  const auto out = [&](size_t i) { return i < node.outputs.size() ? recorder.address(node.outputs[i]) : 0; };
  Work work{p, {}, static_cast<uint32_t>(p.activation)};
  MatmulArgs& args = work.args;
  args = {.a = in(0),
          .b = in(1),
          .a_pairs = in(0),
          .b_pairs = in(1),
          .a_quads = in(0),
          .b_quads = in(1),
          .y = out(0),
          .pre_activation = out(1),
          .bias = in(2),
          .residual = in(3),
          .m = static_cast<uint>(p.m),
          .n = static_cast<uint>(p.n),
          .k = static_cast<uint>(p.k),
          .batch = static_cast<uint>(p.batch),
          .splits = 1,
          .k_per_split = static_cast<uint>(p.k),
          .scale = p.scale,
          .flags = 0};
  if (args.y == 0) {  // somebody wants only the value before the activation
    if (args.pre_activation == 0) return;
    args.y = args.pre_activation;
    args.pre_activation = args.residual = 0;
    work.activation = static_cast<uint32_t>(Activation::none);
  }
  args.flags = (args.bias ? MATMUL_BIAS : 0) | (args.pre_activation ? MATMUL_PRE_ACTIVATION : 0) |
               (args.residual ? MATMUL_RESIDUAL : 0);

  const std::string_view candidate = recorder.candidate();
  const int64_t splits = splits_k(candidate) ? split_count(p, facts, candidate) : 1;
  for (int64_t elements : {p.m * p.k, p.n * p.k, p.m * p.n * splits})
    check(p.batch * elements < int64_t{1} << 31,
          "[matmul] one operand has {} elements; kernels address at most 2^31 - 1", p.batch * elements);
  if (candidate == "dot") return record_dot(recorder, p, args, work.activation);
  if (candidate == "panels") return record_panels(recorder, p, args, work.activation);
  if (splits == 1) {
    recorder.dispatch(launch_of(candidate, facts, work), args);
    return;
  }
  const int64_t elements = p.batch * p.m * p.n;
  const Region partial = recorder.scratch_region(0, static_cast<uint64_t>(splits * elements * float_bytes));
  Work ranges{p, args, static_cast<uint32_t>(Activation::none)};
  ranges.args.y = partial.address;
  ranges.args.splits = static_cast<uint>(splits);
  ranges.args.k_per_split = static_cast<uint>(range_length(p, splits));
  ranges.args.scale = 1;
  ranges.args.flags = 0;
  Launch launch = launch_of(candidate, facts, ranges);
  launch.writes = {partial};
  recorder.dispatch(launch, ranges.args);
  args.a = partial.address;
  args.splits = static_cast<uint>(splits);
  recorder.dispatch({.kernel = "matmul_reduce",
                     .constants = {work.activation},
                     .groups = spread_groups(facts, groups_for(elements, 64)),
                     .cost = Cost{.bytes = static_cast<double>((splits + 1) * elements * float_bytes),
                                  .flops = static_cast<double>(splits * elements)}},
                    args);
}

}  // namespace vkformer
