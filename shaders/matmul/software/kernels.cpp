// The matmul kernels for software drivers: tiles in the registers of a subgroup, and streams of vectors.

#include <algorithm>
#include <bit>

#include "shaders/matmul/matmul_kernel.h"
#include "shaders/matmul/software/dot.h"
#include "shaders/matmul/software/panels.h"
#include "shaders/matmul/software/shared_loads.h"

namespace vkformer {

namespace {

// --- "lanes": a tile in registers ---

/// Outputs of a subgroup's tile, and values of k at a time.
struct LaneTile {
  uint32_t rows, columns, step;
};

/// The rows or columns of the size among `sizes` that covers `length` with the least padding; of equals the first.
uint32_t least_padding(int64_t length, std::initializer_list<uint32_t> sizes) {
  return *std::ranges::min_element(sizes, {}, [&](uint32_t size) { return groups_for(length, size) * size; });
}

/// A fixed set of sizes, so that there are few pipelines. Few rows of a: loads of b are the price, the tile is as high
/// as it must be. Many: as many sums as there are registers; without AVX-512 half of them, and loads lane by lane are
/// code, too (measured on Zen 3, 16 x 32 is 1.3, A transposed, to 1.6 times as fast as 32 x 64). Rows of a transposed b
/// that lie a multiple of 4 KiB apart share one set of the first-level cache: fewer of them, and more of each line
/// before the next needs its place.
LaneTile lane_tile(const DeviceFacts& facts, const MatmulProblem& p, uint32_t splits) {
  const bool few_rows = p.m <= 8, few_registers = facts.is_cpu() && facts.cpu_registers < 32;
  LaneTile tile{.rows = std::bit_ceil(static_cast<uint32_t>(p.m)), .columns = 64, .step = 4};
  if (!few_rows && few_registers) tile = {.rows = 16, .columns = 32, .step = 4};
  if (!few_rows && !few_registers)
    tile = {.rows = least_padding(p.m, {32, 24, 16}), .columns = least_padding(p.n, {64, 80, 32}), .step = 4};
  if (tile.columns / facts.subgroup_size % 2 != 0) tile.columns = 64;  // lanes may load pairs of columns
  if (p.transpose_b && p.k * size_of(p.b_type) % 4096 == 0) tile.columns = 32, tile.step = 8;
  if (tile_count(p, tile.rows, tile.columns) * splits < facts.cpu_threads)
    tile.rows = std::min(tile.rows, 8u), tile.columns = 32;
  return tile;
}

std::string_view long_word_variant_of(const MatmulProblem& p) {
  for (std::string_view name : {"f32_int64", "f32_f16_int64", "f32_bf16_int64", "f16_int64", "bf16_int64"})
    if (name.substr(0, name.size() - std::string_view("_int64").size()) == variant_of(p)) return name;
  fail("[matmul] there is no variant {}", variant_of(p));
}

bool is_lanes_legal(const MatmulProblem&, const DeviceFacts& facts) { return lanes_legal(facts); }

Launch lanes_launch(const DeviceFacts& facts, const MatmulWork& work) {
  const MatmulProblem& p = work.p;
  const uint32_t subgroup = facts.subgroup_size;
  const LaneTile tile = lane_tile(facts, p, work.args.splits);
  const int64_t count = tile_count(p, tile.rows, tile.columns) * work.args.splits;
  const bool pairs_a = work.a_aligned(8 / size_of(p.a_type)), pairs_b = work.b_aligned(8 / size_of(p.b_type));
  return {.kernel = "matmul_lanes",
          .variant = facts.int64 ? long_word_variant_of(p) : variant_of(p),
          .constants = {work.activation, subgroup, tile.rows, tile.columns / subgroup, p.transpose_a, p.transpose_b,
                        pairs_a, pairs_b, work.adds_residual_only(), tile.step},
          .groups = spread_groups(facts, static_cast<uint64_t>(count)),
          .subgroup_size = required_subgroup(facts)};
}

bool split_pays(const MatmulProblem& p, const DeviceFacts& facts) {
  return facts.is_cpu() && facts.int64 && p.k >= 512 && tile_count(p, 16, 32) < facts.cpu_threads;
}

// --- "direct": straight from memory ---

Launch direct_launch(const DeviceFacts& facts, const MatmulWork& work) {
  const MatmulProblem& p = work.p;
  return {.kernel = "matmul_direct",
          .variant = variant_of(p),
          .constants = {work.activation, p.transpose_a, p.transpose_b},
          .groups = spread_groups(facts, static_cast<uint64_t>(tile_count(p, 16, 64)))};
}

constexpr MatmulKernel kernels[] = {
    {.name = "dot",
     .room = KernelRoom::cpu,
     .legal = dot_legal,
     .first = [](const MatmulProblem& p, const DeviceFacts&) { return p.m <= 2; },
     .record = [](Recorder& recorder, const MatmulWork& work) { record_dot(recorder, work, {}); }},
    {.name = "lanes_split",
     .room = KernelRoom::cpu,
     .legal = [](const MatmulProblem& p, const DeviceFacts& facts) { return p.k >= 64 && lanes_legal(facts); },
     .first = split_pays,
     .launch = lanes_launch,
     .ranges =
         [](const MatmulProblem& p, const DeviceFacts& facts) {
           return ranges_to_fill(p, 2 * int64_t{facts.cpu_threads}, tile_count(p, 32, 64));
         }},
    {.name = "panels",
     .room = KernelRoom::cpu,
     .legal = panels_legal,
     .first = panels_pay,
     .blocks = true,
     .record = record_panels,
     .scratch = panel_scratch},
    // Without int64 it is SwiftShader, which unrolls nothing.
    {.name = "lanes",
     .room = KernelRoom::cpu,
     .legal = is_lanes_legal,
     .first = [](const MatmulProblem&, const DeviceFacts& facts) { return facts.is_cpu() && facts.int64; },
     .launch = lanes_launch},
    {.name = "direct",
     .room = KernelRoom::any,
     .legal = [](const MatmulProblem&, const DeviceFacts&) { return true; },
     .first = [](const MatmulProblem&, const DeviceFacts& facts) { return facts.is_cpu(); },
     .launch = direct_launch},
};

}  // namespace

std::span<const MatmulKernel> matmul_software_kernels() { return kernels; }

}  // namespace vkformer
