// The matmul kernels for GPUs: tiles through shared memory, on matrix cores or on plain ones.

#include "shaders/matmul/gpu/matrix_layout.h"
#include "shaders/matmul/gpu/straight_code.h"
#include "shaders/matmul/gpu/vector.h"
#include "shaders/matmul/gpu/workgroup.h"
#include "shaders/matmul/matmul_kernel.h"
#include "shaders/matmul/matmul_kernels.h"

namespace vkformer {

namespace {

bool always(const MatmulProblem&, const DeviceFacts&) { return true; }
bool never(const MatmulProblem&, const DeviceFacts&) { return false; }

/// Not every driver tells.
int64_t cores_of(const DeviceFacts& facts) { return facts.cores > 0 ? facts.cores : 64; }

// --- few workgroups, many values of k ---

constexpr int64_t split_side = 64;

/// With more tiles than half of what split_ranges() fills a GPU with, two ranges of K add no workgroup that is missing,
/// only their sums, which are written, kept and added: gigabytes for the head of a large vocabulary.
bool split_legal(const MatmulProblem& p) {
  return can_split(p) && tile_count(p, split_side, split_side) <= split_workgroups / 2;
}

bool split_pays(const MatmulProblem& p) { return p.k >= 512 && tile_count(p, split_side, split_side) < 64; }

// --- matrix cores ---

bool matrix_legal(const MatrixTile& tile, const MatmulProblem& p, const DeviceFacts& facts) {
  return is_half(p.a_type) && matrix_layout(matrix64, facts, p.a_type) && matrix_layout(tile, facts, p.a_type) &&
         facts.has_matrix_cores(p.a_type) && facts.computes_right(p.a_type, tile.name);
}

/// What blocks of a size reach without and with a transposed A, in TFLOP/s: of the products in docs/benchmarks.md.
struct MatrixRate {
  const MatrixTile* tile;
  double upright, transposed;
};
constexpr MatrixRate matrix_rates[] = {{&matrix128, 197, 50}, {&matrix128x64, 140, 125}, {&matrix64, 138, 96}};

/// Whether no other tile promises to be faster: blocks run in waves of one a core.
bool matrix_first(const MatrixTile& tile, const MatmulProblem& p, const DeviceFacts& facts) {
  if (!matrix_cores_pay(p, facts)) return false;
  const int64_t cores = cores_of(facts);
  const MatrixTile* best = nullptr;
  double least = 0;
  for (const MatrixRate& rate : matrix_rates) {
    const int64_t waves = (tile_count(p, rate.tile->rows, rate.tile->columns) + cores - 1) / cores;
    const double time = static_cast<double>(waves * rate.tile->rows * rate.tile->columns) /
                        (p.transpose_a ? rate.transposed : rate.upright);
    if ((!best || time < least) && matrix_legal(*rate.tile, p, facts)) best = rate.tile, least = time;
  }
  return best == &tile;
}

/// How many values of 8, 4 or 1 stored rows start at multiples of.
template <class Aligned>
uint32_t whole(Aligned aligned) {
  return aligned(8) ? 8 : aligned(4) ? 4 : 1;
}

template <const MatrixTile& tile>
Launch matrix_launch(const DeviceFacts& facts, const MatmulWork& work) {
  const MatmulProblem& p = work.p;
  const MatrixLayout layout = *matrix_layout(tile, facts, p.a_type);
  const int64_t count = tile_count(p, tile.rows, tile.columns) * work.args.splits;
  return {
      .kernel = "matmul_matrix",
      .variant = p.y_type == DType::f16 && !facts.f16_sums ? "f16_y_through_floats" : variant_of(p),
      .constants = {work.activation, layout.invocations(), layout.subgroup_size, tile.rows, tile.columns, layout.down,
                    layout.across, layout.shape.m, layout.shape.n, layout.shape.k, layout.slice, layout.stages,
                    p.transpose_a, p.transpose_b, whole([&](int64_t elements) { return work.a_aligned(elements); }),
                    whole([&](int64_t elements) { return work.b_aligned(elements); }),
                    whole([&](int64_t elements) { return work.y_aligned(elements); })},
      .groups = spread_groups(facts, static_cast<uint64_t>(count)),
      .subgroup_size = layout.subgroup_size};
}

template <const MatrixTile& tile>
constexpr MatmulKernel matrix_kernel() {
  return {.name = tile.name,
          .room = KernelRoom::gpu,
          .legal = [](const MatmulProblem& p, const DeviceFacts& facts) { return matrix_legal(tile, p, facts); },
          .first = [](const MatmulProblem& p, const DeviceFacts& facts) { return matrix_first(tile, p, facts); },
          .half_results = true,
          .launch = matrix_launch<tile>};
}

// --- the same, a whole workgroup together ---

/// Whole blocks that fill half of the cores: a tenth to a third faster than the kernels above in an H200's training
/// step. Past the edges they are slower by as much.
template <const WorkgroupTile& tile>
bool workgroup_first(const MatmulProblem& p, const DeviceFacts& facts) {
  return matrix_cores_pay(p, facts) && is_whole(tile, p) &&
         2 * tile_count(p, tile.rows, tile.columns) >= cores_of(facts);
}

template <const WorkgroupTile& tile, auto first>
constexpr MatmulKernel workgroup_kernel() {
  return {
      .name = tile.name,
      .room = KernelRoom::gpu,
      .legal = [](const MatmulProblem& p, const DeviceFacts& facts) { return workgroup_legal(tile, p, facts); },
      .first = first,
      .half_results = true,
      .launch = [](const DeviceFacts& facts, const MatmulWork& work) { return workgroup_launch(tile, facts, work); }};
}

// --- plain cores ---

struct Tile {
  uint32_t side;              ///< outputs along each side of a workgroup's tile
  uint32_t quads;             ///< of outputs along each side of an invocation's share
  uint32_t usual_slice = 16;  ///< values of k staged at a time, where there is room
  uint32_t invocations() const { return side / 4 / quads * (side / 4 / quads); }
  uint32_t shared_bytes(uint32_t slice) const { return 2 * slice * (side / 4 + 1) * 16; }
  uint32_t slice(const DeviceFacts& facts) const {
    return shared_bytes(usual_slice) <= facts.shared_memory ? usual_slice : usual_slice / 2;
  }
};
/// A share of 4 x 4 takes twice as many clocks of an NVIDIA multiprocessor's shared memory as of its multiply-adds, one
/// of 8 x 8 as many.
constexpr Tile tile128{128, 2}, tile64{64, 1}, tile32{32, 1};

template <const Tile& tile>
bool tile_fits(const MatmulProblem&, const DeviceFacts& facts) {
  // Shares larger than 4 x 4 spill where lanes share a thread's registers.
  return (tile.quads == 1 || !facts.lanes_share_registers()) && tile.invocations() <= facts.max_workgroup_size &&
         tile.shared_bytes(tile.slice(facts)) <= facts.shared_memory;
}

/// Where lanes have the registers (of subgroups of 64, AMD's, too few stay resident), and with two workgroups for each
/// core.
bool tile128_pays(const MatmulProblem& p, const DeviceFacts& facts) {
  const int64_t cores = cores_of(facts);
  return !facts.is_cpu() && facts.subgroup_size <= 32 && facts.shared_memory >= 49152 &&
         tile_count(p, 128, 128) >= 2 * cores;
}
bool tile64_pays(const MatmulProblem& p, const DeviceFacts&) { return tile_count(p, 64, 64) >= 64; }

/// Mostly padding is no use; the smallest must do for everything.
template <const Tile& tile, auto pays>
bool tile_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  const bool filled = p.m > tile.side / 4 && p.n > tile.side / 4;
  return tile_fits<tile>(p, facts) && (filled || pays(p, facts));
}

template <const Tile& tile>
Launch tile_launch(const DeviceFacts& facts, const MatmulWork& work) {
  const MatmulProblem& p = work.p;
  const int64_t count = tile_count(p, tile.side, tile.side) * work.args.splits;
  return {.kernel = "matmul_tile",
          .variant = variant_of(p),
          .constants = {work.activation, tile.invocations(), tile.side, tile.quads, tile.quads, tile.slice(facts),
                        straight_steps(facts, tile.slice(facts)), p.transpose_a, p.transpose_b, work.a_aligned(4),
                        work.b_aligned(4), work.y_aligned(4)},
          .groups = spread_groups(facts, static_cast<uint64_t>(count))};
}

constexpr MatmulKernel kernels[] = {
    workgroup_kernel<workgroup128_4, workgroup_first<workgroup128_4>>(),
    workgroup_kernel<workgroup128x64_4, workgroup_first<workgroup128x64_4>>(),
    workgroup_kernel<workgroup128, never>(),
    {.name = "vector",
     .room = KernelRoom::gpu,
     .legal = vector_legal,
     // Unrolled for more rows it takes a software driver minutes to compile.
     .first = [](const MatmulProblem& p, const DeviceFacts& facts) { return !facts.is_cpu() || p.m <= 2; },
     .blocks = true,
     .record = [](Recorder& recorder, const MatmulWork& work) { record_vector(recorder, work, {}); }},
    {.name = "matrix64_split",
     .room = KernelRoom::gpu,
     .legal = [](const MatmulProblem& p,
                 const DeviceFacts& facts) { return split_legal(p) && matrix_legal(matrix64, p, facts); },
     .first = [](const MatmulProblem& p,
                 const DeviceFacts& facts) { return matrix_cores_pay(p, facts) && split_pays(p); },
     .half_results = true,
     .launch = matrix_launch<matrix64>,
     .split = {split_side, split_side}},
    matrix_kernel<matrix128>(),
    matrix_kernel<matrix128x64>(),
    matrix_kernel<matrix64>(),
    {.name = "tile64_split",
     .room = KernelRoom::gpu,
     .legal = [](const MatmulProblem& p,
                 const DeviceFacts& facts) { return split_legal(p) && tile_fits<tile64>(p, facts); },
     .first = [](const MatmulProblem& p, const DeviceFacts& facts) { return !facts.is_cpu() && split_pays(p); },
     .half_results = true,
     .blocks = true,
     .launch = tile_launch<tile64>,
     .split = {split_side, split_side}},
    {.name = "tile128",
     .room = KernelRoom::gpu,
     .legal = tile_legal<tile128, tile128_pays>,
     .first = tile128_pays,
     .half_results = true,
     .blocks = true,
     .launch = tile_launch<tile128>},
    {.name = "tile64",
     .room = KernelRoom::gpu,
     .legal = tile_legal<tile64, tile64_pays>,
     .first = tile64_pays,
     .half_results = true,
     .blocks = true,
     .launch = tile_launch<tile64>},
    // Few workgroups: small tiles make the most of them.
    {.name = "tile32",
     .room = KernelRoom::gpu,
     .legal = tile_fits<tile32>,
     .first = always,
     .half_results = true,
     .blocks = true,
     .launch = tile_launch<tile32>},
};

}  // namespace

bool matrix_cores_pay(const MatmulProblem& p, const DeviceFacts& facts) {
  return !facts.is_cpu() && !facts.lanes_share_registers() && p.m >= 64 && p.n >= 64 && p.k >= 64;
}

std::span<const MatmulKernel> matmul_gpu_kernels() { return kernels; }

}  // namespace vkformer
