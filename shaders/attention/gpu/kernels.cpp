// The kernels of attention for GPUs: products of tiles through shared memory; keys split over workgroups for a few
// queries.

#include <algorithm>

#include "runtime/quirks.h"
#include "shaders/attention/attention_kernel.h"
#include "shaders/attention/gpu/attention_matrix_layout.h"

namespace vkformer {

using namespace attention_launch;

namespace {

constexpr uint32_t decode_threads = 128;  ///< invocations of a workgroup

bool always(const AttentionProblem&, const DeviceFacts&) { return true; }
bool decode_legal(const AttentionProblem& problem, const DeviceFacts&) { return is_decode(problem); }

// --- decode ---

PartialResults decode_results(const AttentionProblem& problem) {
  const int64_t most = (problem.keys + decode_threads - 1) / decode_threads;
  return {.batches = problem.batches,
          .heads = problem.heads,
          .queries = problem.queries,
          .value_width = problem.value_width,
          .parts = std::clamp<int64_t>(wanted_decode_groups / problem.rows(), 1, most)};
}

int64_t decode_scratch(const AttentionProblem& problem) { return decode_results(problem).bytes(); }

void record_decode(Recorder& recorder, const Node& node, const AttentionProblem& problem, const AttentionArgs& whole,
                   uint32_t wanted) {
  const PartialResults partial = decode_results(problem);
  int64_t column_threads = 1;
  while (column_threads < problem.value_width && column_threads < decode_threads) column_threads *= 2;
  Launch launch = block_launch("attention_decode", constants(problem, decode_threads, wanted, {column_threads}),
                               partial.parts, problem.heads * problem.queries, problem.batches);
  launch.variant = variant_of(problem);
  AttentionDecodeArgs args{.source = whole.source,
                           .result = whole.result,
                           .log_sum_exp = whole.log_sum_exp,
                           .sinks = whole.sinks,
                           .part_count = static_cast<int>(partial.parts)};
  if (partial.parts == 1) return recorder.dispatch(launch, args);
  args.result = partial.results(recorder);
  args.log_sum_exp = partial.sums(recorder);
  launch.writes = {partial.region(recorder)};
  recorder.dispatch(launch, args);
  partial.record_merge(recorder, recorder.region(node.outputs[0]), recorder.region(node.outputs[1]),
                       problem.has_sinks ? recorder.region(node.inputs[attention_sinks]) : Region{});
}

// --- tiles ---

struct Tile {
  int64_t side;              ///< in queries and keys
  int64_t chunk;             ///< columns of a head that are summed together; wide heads take several
  uint32_t invocations = 0;  ///< 0: what wide heads and the device's registers need
};
/// With a side of 32, chunks of 64 columns need 22 KiB of shared memory, of 32 columns 13: room for more workgroups
/// where shared memory is what bounds them (AMD, Adreno), for more barriers.
constexpr Tile tile32{32, 64}, tile32_narrow{32, 32};
/// With a side of 64, staged 32 columns at a time, 27 KiB. They are named after the sums an invocation has: r x c sums
/// take r + c values from shared memory for r c multiply-adds. A warp's load takes a clock of an NVIDIA
/// multiprocessor's shared memory, its multiply-add a quarter. So heads of 64 columns load, for every 32 x 32 weights,
/// with 4 x 2 scores and 4 x 4 sums over keys (tile32) 2560 clocks where they multiply for 1024, with 4 x 4 for 2048,
/// with 8 x 4 for 1536. Shares of 8 x 8, 1024 clocks, were slower than those on an H200: two subgroups a workgroup.
constexpr Tile tile64_8x4{64, 64, 128}, tile64_4x4{64, 64, 256};

int64_t widest_head(const AttentionProblem& problem) { return std::max(problem.head_width, problem.value_width); }

uint32_t invocations_of(const Tile& tile, const AttentionProblem& problem, const DeviceFacts& facts) {
  if (tile.invocations > 0) return tile.invocations;
  const bool many = widest_head(problem) > 128 || facts.lanes_share_registers();
  return many && facts.max_workgroup_size >= 256 ? 256 : 128;
}

/// Whether tile32's chunks are wider than those of tile32_narrow. Of heads over 128 they spill where lanes share a
/// thread's registers.
bool wide_chunks(const AttentionProblem& problem, const DeviceFacts& facts) {
  const int64_t width = widest_head(problem);
  return facts.shared_memory >= 32768 && width > tile32_narrow.chunk &&
         (width <= 128 || !facts.lanes_share_registers());
}

/// Where there is room and lanes have registers of their own. Half a tile is no use.
template <const Tile& tile, int64_t narrowest, int64_t widest>
bool tile64_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  const int64_t width = widest_head(problem);
  return problem.queries > tile.side / 2 && problem.keys > tile.side / 2 && width >= narrowest && width <= widest &&
         facts.shared_memory >= 32768 && !facts.lanes_share_registers() && tile.invocations <= facts.max_workgroup_size;
}

/// Vulkan does not say how many registers a lane has. Where shared memory is scarce (Apple, Adreno: 32 KiB) they are,
/// too: shares of 8 x 4 spill there, by hundreds with heads over 64, those of 4 x 4 with heads over 128.
bool has_many_registers(const DeviceFacts& facts) { return facts.shared_memory >= 49152; }

/// What software drivers prove.
bool has_registers_for(int64_t most, const AttentionProblem& problem, const DeviceFacts& facts) {
  return widest_head(problem) <= most || facts.is_cpu() || has_many_registers(facts);
}

bool large_shares_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return tile64_legal<tile64_8x4, 1, 128>(problem, facts) && has_registers_for(64, problem, facts);
}

/// Shares of 4 x 4 are for what the larger ones are not: subgroups of 64, and wide heads.
bool small_shares_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return tile64_legal<tile64_4x4, 33, 256>(problem, facts) &&
         (facts.subgroup_size > 32 ? has_registers_for(128, problem, facts)
                                   : widest_head(problem) > 64 && has_registers_for(64, problem, facts));
}

/// Two workgroups for each core.
bool enough_groups(int64_t items, int64_t heads, const AttentionProblem& problem, const DeviceFacts& facts) {
  const int64_t cores = facts.usual_cores();
  return !facts.is_cpu() && (items + tile64_8x4.side - 1) / tile64_8x4.side * heads * problem.batches >= 2 * cores;
}
bool forward_fills(const AttentionProblem& problem, const DeviceFacts& facts) {
  return enough_groups(problem.queries, problem.heads, problem, facts);
}
bool backward_fills(const AttentionProblem& problem, const DeviceFacts& facts) {
  return forward_fills(problem, facts) && enough_groups(problem.keys, problem.kv_heads, problem, facts);
}

/// Subgroups of 32 that have the registers for large shares.
bool large_shares_pay(const AttentionProblem&, const DeviceFacts& facts) {
  return facts.subgroup_size <= 32 && has_many_registers(facts);
}
/// Of subgroups of 64 a workgroup of 128 is only two, and no more of them stay resident than of 256.
bool small_shares_pay(const AttentionProblem&, const DeviceFacts& facts) { return facts.subgroup_size > 32; }

template <auto pays, auto fills>
bool tile64_first(const AttentionProblem& problem, const DeviceFacts& facts) {
  return pays(problem, facts) && fills(problem, facts);
}

/// Workgroups that share the `width` columns of a head's results, each of which computes all its weights: registers
/// hold the sums of 256, on NVK those of two chunks.
int64_t column_parts(int64_t width, int64_t chunk, const DeviceFacts& facts) {
  return groups_for(width, keeps_outer_loops(facts) ? 2 * chunk : 256);
}

template <const Tile& tile>
int64_t chunk_of(const AttentionProblem& problem, const DeviceFacts& facts) {
  return tile.chunk > tile32_narrow.chunk && wide_chunks(problem, facts) ? tile.chunk : tile32_narrow.chunk;
}

template <const Tile& tile>
std::vector<uint32_t> tile_constants(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted,
                                     int64_t parts) {
  return constants(problem, invocations_of(tile, problem, facts), wanted,
                   {chunk_of<tile>(problem, facts), tile.side, parts});
}

template <const Tile& tile>
Launch tile_launch(std::string_view kernel, const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted,
                   int64_t items, int64_t heads, int64_t result_width) {
  const int64_t parts = column_parts(result_width, chunk_of<tile>(problem, facts), facts);
  return block_launch(kernel, tile_constants<tile>(problem, facts, wanted, parts), groups_for(items, tile.side) * parts,
                      heads, problem.batches);
}

template <const Tile& tile>
Launch forward_launch(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  return tile_launch<tile>("attention_tiled", problem, facts, wanted, problem.queries, problem.heads,
                           problem.value_width);
}

template <const Tile& tile>
Launch query_launch(const AttentionProblem& problem, const DeviceFacts& facts) {
  return tile_launch<tile>("attention_backward_query_tiled", problem, facts, 1, problem.queries, problem.heads,
                           problem.head_width);
}

template <const Tile& tile>
Launch key_value_launch(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  return tile_launch<tile>("attention_backward_key_value_tiled", problem, facts, wanted, problem.keys, problem.kv_heads,
                           widest_head(problem));
}

template <const Tile& tile>
Launch bias_tiles_launch(const AttentionProblem& problem, const DeviceFacts& facts) {
  return bias_launch("attention_backward_bias_tiled", tile_constants<tile>(problem, facts, 1, 1), problem, facts,
                     tile.side, tile.side);
}

// --- matrix cores ---

constexpr int64_t widest_forward = 256, widest_part = 128;  ///< sums of more columns are more than registers hold
constexpr int64_t widest_backward = 128, widest_pair = 64;  ///< of keys and values together

/// Wide results are stored in four strips, so their blocks are the larger ones, also of a software driver.
AttentionMatrixNeeds backward_needs(const AttentionProblem& problem, uint32_t vector_tiles) {
  return {.block = 32, .least_block = widest_head(problem) > widest_pair ? 32u : 16u, .vector_tiles = vector_tiles};
}
AttentionMatrixNeeds query_needs(const AttentionProblem& problem) { return backward_needs(problem, 0); }
AttentionMatrixNeeds key_value_needs(const AttentionProblem& problem) { return backward_needs(problem, 2); }

bool is_wide(const AttentionProblem& problem) { return widest_head(problem) > widest_part; }

/// Workgroups that share a wide head compute all its weights each: a half more products than one would. Its queries
/// leave no registers for large blocks (RDNA 3).
AttentionMatrixNeeds forward_needs(const AttentionProblem& problem) {
  const bool wide = is_wide(problem);
  return {.block = wide ? 32u : 64u, .least_block = 32, .parts = wide ? 2u : 1u};
}

template <bool wide>
bool matrix_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return is_wide(problem) == wide && widest_head(problem) <= widest_forward &&
         attention_matrix_layout(forward_needs(problem), problem, facts) &&
         facts.has_matrix_attention(problem.type, wide ? "wide_attention" : "attention");
}

template <bool wide>
bool matrix_backward_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  const int64_t width = widest_head(problem);
  return (width > widest_pair) == wide && width <= widest_backward &&
         attention_matrix_layout(query_needs(problem), problem, facts) &&
         attention_matrix_layout(key_value_needs(problem), problem, facts) &&
         facts.has_matrix_attention(problem.type, wide ? "wide_attention_backward" : "attention");
}

/// Where they are not emulated: on an H200 they take a third of the time of tiles.
bool matrix_first(const AttentionProblem&, const DeviceFacts& facts) { return !facts.is_cpu(); }

Launch matrix_launch(std::string_view kernel, const AttentionMatrixLayout& layout, const AttentionProblem& problem,
                     const DeviceFacts& facts, uint32_t wanted, int64_t items, int64_t heads) {
  Launch launch = block_launch(kernel,
                               constants(problem, layout.invocations(), wanted,
                                         {layout.subgroup_size, layout.shape.m, layout.shape.n, layout.shape.k,
                                          layout.block, layout.stages, layout.parts}),
                               groups_for(items, layout.rows()) * layout.parts, heads, problem.batches);
  launch.subgroup_size = layout.subgroup_size;
  if (problem.type == DType::f16 && !facts.f16_sums) launch.variant = "f16_through_floats";
  return launch;
}

Launch matrix_forward_launch(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  return matrix_launch("attention_matrix", *attention_matrix_layout(forward_needs(problem), problem, facts), problem,
                       facts, wanted, problem.queries, problem.heads);
}

Launch matrix_query_launch(const AttentionProblem& problem, const DeviceFacts& facts) {
  return matrix_launch("attention_backward_query_matrix",
                       *attention_matrix_layout(query_needs(problem), problem, facts), problem, facts, 1,
                       problem.queries, problem.heads);
}

Launch matrix_key_value_launch(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  return matrix_launch("attention_backward_key_value_matrix",
                       *attention_matrix_layout(key_value_needs(problem), problem, facts), problem, facts, wanted,
                       problem.keys, problem.kv_heads);
}

constexpr AttentionKernel kernels[] = {
    {.name = "decode",
     .room = KernelRoom::gpu,
     .legal = decode_legal,
     .half_keys = true,
     .record = record_decode,
     .scratch = decode_scratch},
    {.name = "matrix",
     .room = KernelRoom::gpu,
     .legal = matrix_legal<false>,
     .first = matrix_first,
     .halves = true,
     .launch = matrix_forward_launch},
    {.name = "matrix_wide",
     .room = KernelRoom::gpu,
     .legal = matrix_legal<true>,
     .first = matrix_first,
     .halves = true,
     .launch = matrix_forward_launch},
    {.name = "tiled64_8x4",
     .room = KernelRoom::gpu,
     .legal = large_shares_legal,
     .first = tile64_first<large_shares_pay, forward_fills>,
     .halves = true,
     .half_keys = true,
     .launch = forward_launch<tile64_8x4>},
    {.name = "tiled64_4x4",
     .room = KernelRoom::gpu,
     .legal = small_shares_legal,
     .first = tile64_first<small_shares_pay, forward_fills>,
     .halves = true,
     .half_keys = true,
     .launch = forward_launch<tile64_4x4>},
    {.name = "tiled",
     .room = KernelRoom::gpu,
     .legal = always,
     .halves = true,
     .half_keys = true,
     .launch = forward_launch<tile32>},
    {.name = "tiled_narrow",
     .room = KernelRoom::gpu,
     .legal = wide_chunks,
     .halves = true,
     .half_keys = true,
     .launch = forward_launch<tile32_narrow>},
};

constexpr AttentionBackwardKernel backward_kernels[] = {
    {.name = "matrix",
     .room = KernelRoom::gpu,
     .legal = matrix_backward_legal<false>,
     .first = matrix_first,
     .halves = true,
     .query = matrix_query_launch,
     .key_value = matrix_key_value_launch,
     .bias = bias_tiles_launch<tile32>},
    {.name = "matrix_wide",
     .room = KernelRoom::gpu,
     .legal = matrix_backward_legal<true>,
     .first = matrix_first,
     .halves = true,
     .query = matrix_query_launch,
     .key_value = matrix_key_value_launch,
     .bias = bias_tiles_launch<tile32>,
     .keys_apart = true},
    {.name = "tiled64_8x4",
     .room = KernelRoom::gpu,
     .legal = large_shares_legal,
     .first = tile64_first<large_shares_pay, backward_fills>,
     .halves = true,
     .query = query_launch<tile64_8x4>,
     .key_value = key_value_launch<tile64_8x4>,
     .bias = bias_tiles_launch<tile64_8x4>},
    {.name = "tiled64_4x4",
     .room = KernelRoom::gpu,
     .legal = small_shares_legal,
     .first = tile64_first<small_shares_pay, backward_fills>,
     .halves = true,
     .query = query_launch<tile64_4x4>,
     .key_value = key_value_launch<tile64_4x4>,
     .bias = bias_tiles_launch<tile64_4x4>},
    {.name = "tiled",
     .room = KernelRoom::gpu,
     .legal = always,
     .halves = true,
     .query = query_launch<tile32>,
     .key_value = key_value_launch<tile32>,
     .bias = bias_tiles_launch<tile32>},
    {.name = "tiled_narrow",
     .room = KernelRoom::gpu,
     .legal = wide_chunks,
     .halves = true,
     .query = query_launch<tile32_narrow>,
     .key_value = key_value_launch<tile32_narrow>,
     .bias = bias_tiles_launch<tile32_narrow>},
};

}  // namespace

std::span<const AttentionKernel> attention_gpu_kernels() { return kernels; }
std::span<const AttentionBackwardKernel> attention_backward_gpu_kernels() { return backward_kernels; }

}  // namespace vkformer
