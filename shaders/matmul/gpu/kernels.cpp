// The matmul kernels for GPUs: tiles through shared memory, on matrix cores or on plain ones.

#include <algorithm>

#include "shaders/matmul/gpu/matrix_choice.h"
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

// --- matrix cores, in blocks of subgroups' products or of whole workgroups' ---

bool is_legal(const MatrixTile& tile, const MatmulProblem& p, const DeviceFacts& facts) {
  return is_half(p.a_type) && matrix_layout(matrix64, facts, p.a_type) && matrix_layout(tile, facts, p.a_type) &&
         facts.has_matrix_cores(p.a_type) && facts.computes_right(p.a_type, tile.name);
}

bool is_legal(const WorkgroupTile& tile, const MatmulProblem& p, const DeviceFacts& facts) {
  return workgroup_legal(tile, p, facts);
}

/// How many values of 8, 4 or 1 stored rows start at multiples of.
template <class Aligned>
uint32_t whole(Aligned aligned) {
  return aligned(8) ? 8 : aligned(4) ? 4 : 1;
}

Launch launch_of(const MatrixTile& tile, const DeviceFacts& facts, const MatmulWork& work) {
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

Launch launch_of(const WorkgroupTile& tile, const DeviceFacts& facts, const MatmulWork& work) {
  return workgroup_launch(tile, facts, work);
}

/// Blocks of whole workgroups past the edges of a product are slower than those of subgroups: none is chosen.
template <const WorkgroupTile& tile>
bool whole_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  return is_whole(tile, p) && is_legal(tile, p, facts);
}
template <const MatrixTile& tile>
bool whole_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  return is_legal(tile, p, facts);
}

template <const auto& tile>
constexpr MatrixBlocks blocks_of(double upright, double transposed, bool cut) {
  return {tile.name, tile.rows, tile.columns, upright, transposed, whole_legal<tile>, cut};
}
constexpr MatrixBlocks matrix_blocks[] = {
    blocks_of<workgroup128_4>(300, 320, true), blocks_of<workgroup128x64_4>(190, 200, false),
    blocks_of<matrix128>(250, 285, true),      blocks_of<matrix128x64>(150, 200, false),
    blocks_of<matrix64>(145, 160, true),
};

template <const auto& tile, bool cut>
bool matrix_first(const MatmulProblem& p, const DeviceFacts& facts) {
  if (!matrix_cores_pay(p, facts)) return false;
  const MatrixChoice choice = choose_blocks(matrix_blocks, p, facts);
  return choice.blocks && choice.blocks->name == tile.name && choice.cut == cut;
}

/// A kernel that computes blocks of all of K.
template <const auto& tile>
constexpr MatmulKernel whole_kernel(bool (*first)(const MatmulProblem&, const DeviceFacts&)) {
  return {.name = tile.name,
          .room = KernelRoom::gpu,
          .legal = [](const MatmulProblem& p, const DeviceFacts& facts) { return is_legal(tile, p, facts); },
          .first = first,
          .half_results = true,
          .launch = [](const DeviceFacts& facts, const MatmulWork& work) { return launch_of(tile, facts, work); }};
}

/// The same of ranges of K.
template <const auto& tile>
constexpr MatmulKernel cut_kernel(std::string_view name) {
  MatmulKernel kernel = whole_kernel<tile>(matrix_first<tile, true>);
  kernel.name = name;
  kernel.legal = [](const MatmulProblem& p, const DeviceFacts& facts) {
    return may_be_cut(p, facts, tile.rows, tile.columns) && whole_legal<tile>(sums_of(p), facts);
  };
  kernel.ranges = [](const MatmulProblem& p, const DeviceFacts& facts) {
    return matrix_ranges(*std::ranges::find(matrix_blocks, tile.name, &MatrixBlocks::name), p, facts);
  };
  return kernel;
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
/// A share of 4 x 4 takes as many clocks of an NVIDIA multiprocessor's shared memory as of its multiply-adds, one of 8
/// x 8 half as many. In tiles of 64 such large shares make four times as many workgroups as in those of 128: `vkformer
/// tune` alone chooses them. (On an H200 they took 2 to 10 % less time than 4 x 4 for 4096 rows and 768 columns.)
constexpr Tile tile128{128, 2}, tile64_8x8{64, 2}, tile64{64, 1}, tile32{32, 1};

template <const Tile& tile>
bool tile_fits(const MatmulProblem&, const DeviceFacts& facts) {
  // Shares larger than 4 x 4 spill where lanes share a thread's registers.
  return (tile.quads == 1 || !facts.lanes_share_registers()) && tile.invocations() <= facts.max_workgroup_size &&
         tile.shared_bytes(tile.slice(facts)) <= facts.shared_memory;
}

/// Where lanes have the registers (of subgroups of 64, AMD's, too few stay resident), and with two workgroups for each
/// core.
bool tile128_pays(const MatmulProblem& p, const DeviceFacts& facts) {
  return !facts.is_cpu() && facts.subgroup_size <= 32 && facts.shared_memory >= 49152 &&
         tile_count(p, 128, 128) >= 2 * facts.usual_cores();
}
bool tile64_pays(const MatmulProblem& p, const DeviceFacts&) { return tile_count(p, 64, 64) >= 64; }

/// Mostly padding is no use; the smallest must do for everything.
template <const Tile& tile, auto pays>
bool tile_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  const bool filled = p.m > tile.side / 4 && p.n > tile.side / 4;
  return tile_fits<tile>(p, facts) && (filled || pays(p, facts));
}

/// Whether 64 invocations with 8 x 8 sums each find registers for their part of a slice, four loads of each operand.
/// Compilers for Apple and Adreno spill; those GPUs have less shared memory, or larger subgroups.
bool holds_small_groups(const DeviceFacts& facts) {
  return facts.subgroup_size < 32 || (facts.subgroup_size == 32 && facts.shared_memory >= 49152);
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

bool split_pays(const MatmulProblem& p, const DeviceFacts& facts) {
  return !facts.is_cpu() && p.k >= 512 && tile_count(p, 64, 64) < std::max<int64_t>(facts.usual_cores(), 64);
}

constexpr MatmulKernel kernels[] = {
    whole_kernel<workgroup128_4>(matrix_first<workgroup128_4, false>),
    cut_kernel<workgroup128_4>("matrix_workgroup128_4_split"),
    whole_kernel<workgroup128x64_4>(matrix_first<workgroup128x64_4, false>),
    whole_kernel<workgroup128>(never),
    {.name = "vector",
     .room = KernelRoom::gpu,
     .legal = vector_legal,
     // Unrolled for more rows it takes a software driver minutes to compile.
     .first = [](const MatmulProblem& p, const DeviceFacts& facts) { return !facts.is_cpu() || p.m <= 2; },
     .blocks = true,
     .record = [](Recorder& recorder, const MatmulWork& work) { record_vector(recorder, work, {}); }},
    cut_kernel<matrix128>("matrix128_split"),
    cut_kernel<matrix64>("matrix64_split"),
    whole_kernel<matrix128>(matrix_first<matrix128, false>),
    whole_kernel<matrix128x64>(matrix_first<matrix128x64, false>),
    whole_kernel<matrix64>(matrix_first<matrix64, false>),
    {.name = "tile64_split",
     .room = KernelRoom::gpu,
     .legal = [](const MatmulProblem& p,
                 const DeviceFacts& facts) { return may_be_cut(p, facts, 64, 64) && tile_fits<tile64>(p, facts); },
     .first = split_pays,
     .half_results = true,
     .blocks = true,
     .launch = tile_launch<tile64>,
     .ranges =
         [](const MatmulProblem& p, const DeviceFacts& facts) {
           return ranges_to_fill(p, std::max<int64_t>(2 * facts.usual_cores(), 256), tile_count(p, 64, 64));
         }},
    {.name = "tile128",
     .room = KernelRoom::gpu,
     .legal = tile_legal<tile128, tile128_pays>,
     .first = tile128_pays,
     .half_results = true,
     .blocks = true,
     .launch = tile_launch<tile128>},
    {.name = "tile64_8x8",
     .room = KernelRoom::gpu,
     .legal =
         [](const MatmulProblem& p, const DeviceFacts& facts) {
           return holds_small_groups(facts) && tile_legal<tile64_8x8, never>(p, facts);
         },
     .first = never,
     .half_results = true,
     .blocks = true,
     .launch = tile_launch<tile64_8x8>},
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
