// The kernels of attention for GPUs: products of tiles through shared memory; keys split over workgroups for a few
// queries.

#include <algorithm>

#include "shaders/attention/attention_kernel.h"

namespace vkformer {

using namespace attention_launch;

namespace {

constexpr int64_t tile = 32;              ///< in queries and keys
constexpr uint32_t decode_threads = 128;  ///< invocations of a workgroup

bool always(const AttentionProblem&, const DeviceFacts&) { return true; }
bool decode_legal(const AttentionProblem& problem, const DeviceFacts&) { return is_decode(problem); }

// --- decode ---

/// Parts of the keys, a workgroup each, so that a few queries fill the device.
struct DecodeSplit {
  int64_t parts, part_keys;
};
DecodeSplit decode_split(const AttentionProblem& problem) {
  constexpr int64_t wanted_groups = 256, step = decode_threads;
  const int64_t most = (problem.keys + step - 1) / step;
  const int64_t parts = std::clamp<int64_t>(wanted_groups / problem.rows(), 1, most);
  const int64_t part_keys = (most + parts - 1) / parts * step;
  return {(problem.keys + part_keys - 1) / part_keys, part_keys};
}

int64_t decode_scratch(const AttentionProblem& problem) {
  const DecodeSplit split = decode_split(problem);
  return split.parts == 1 ? 0 : problem.rows() * split.parts * (2 + problem.value_width) * 4;
}

void record_decode(Recorder& recorder, const Node& node, const AttentionProblem& problem, const AttentionArgs& whole,
                   uint32_t wanted) {
  const DecodeSplit split = decode_split(problem);
  int64_t column_threads = 1;
  while (column_threads < problem.value_width && column_threads < decode_threads) column_threads *= 2;
  Launch launch = block_launch("attention_decode", constants(problem, decode_threads, wanted, {column_threads}),
                               split.parts, problem.heads * problem.queries, problem.batches);
  AttentionDecodeArgs args{.source = whole.source,
                           .result = whole.result,
                           .log_sum_exp = whole.log_sum_exp,
                           .part_keys = static_cast<int>(split.part_keys),
                           .part_count = static_cast<int>(split.parts)};
  if (split.parts == 1) return recorder.dispatch(launch, args);

  const auto sum_bytes = static_cast<uint64_t>(problem.rows() * split.parts * 8);
  const AttentionMergeArgs merge{.parts = recorder.scratch() + sum_bytes,
                                 .sums = recorder.scratch(),
                                 .result = whole.result,
                                 .log_sum_exp = whole.log_sum_exp,
                                 .queries = whole.source.queries,
                                 .heads = whole.source.heads,
                                 .part_count = args.part_count};
  args.result = merge.parts;
  args.log_sum_exp = merge.sums;
  const Region scratch = recorder.scratch_region(0, static_cast<uint64_t>(decode_scratch(problem)));
  launch.writes = {scratch};
  recorder.dispatch(launch, args);
  Launch join = block_launch("attention_decode_merge", {64, static_cast<uint32_t>(problem.value_width), wanted},
                             problem.queries, problem.heads, problem.batches);
  join.reads = {scratch};
  join.cost = {.bytes = static_cast<double>(scratch.bytes)};
  for (Value output : node.outputs)
    if (recorder.address(output)) join.writes.push_back(recorder.region(output));
  recorder.dispatch(join, merge);
}

// --- tiles ---

/// Columns of a tile in shared memory: 64 needs 22 KiB, 32 needs 14 and so leaves room for twice as many workgroups
/// where shared memory is what bounds them (AMD, Adreno), for more barriers.
constexpr int64_t wide_chunk = 64, narrow_chunk = 32;

bool takes_wide_chunks(const AttentionProblem& problem, const DeviceFacts& facts) {
  return facts.shared_memory >= 32768 && std::max(problem.head_width, problem.value_width) > narrow_chunk;
}

/// Where lanes have few registers, and for wide heads, more of them share the sums.
uint32_t tile_threads(const AttentionProblem& problem, const DeviceFacts& facts) {
  const bool wide = std::max(problem.head_width, problem.value_width) > 128;
  return (wide || facts.lanes_share_registers()) && facts.max_workgroup_size >= 256 ? 256 : 128;
}

template <bool narrow>
std::vector<uint32_t> tile_constants(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  const int64_t chunk = !narrow && takes_wide_chunks(problem, facts) ? wide_chunk : narrow_chunk;
  return constants(problem, tile_threads(problem, facts), wanted, {chunk});
}

template <bool narrow>
Launch forward_launch(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  return block_launch("attention_tiled", tile_constants<narrow>(problem, facts, wanted),
                      groups_for(problem.queries, tile), problem.heads, problem.batches);
}

template <bool narrow>
Launch query_launch(const AttentionProblem& problem, const DeviceFacts& facts) {
  return block_launch("attention_backward_query_tiled", tile_constants<narrow>(problem, facts, 1),
                      groups_for(problem.queries, tile), problem.heads, problem.batches);
}

template <bool narrow>
Launch key_value_launch(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  return block_launch("attention_backward_key_value_tiled", tile_constants<narrow>(problem, facts, wanted),
                      groups_for(problem.keys, tile), problem.kv_heads, problem.batches);
}

template <bool narrow>
Launch bias_tiles_launch(const AttentionProblem& problem, const DeviceFacts& facts) {
  return bias_launch("attention_backward_bias_tiled", tile_constants<narrow>(problem, facts, 1), problem, facts, tile,
                     tile);
}

constexpr AttentionKernel kernels[] = {
    {.name = "decode",
     .room = KernelRoom::gpu,
     .legal = decode_legal,
     .record = record_decode,
     .scratch = decode_scratch},
    {.name = "tiled", .room = KernelRoom::gpu, .legal = always, .launch = forward_launch<false>},
    {.name = "tiled_narrow", .room = KernelRoom::gpu, .legal = takes_wide_chunks, .launch = forward_launch<true>},
};

constexpr AttentionBackwardKernel backward_kernels[] = {
    {.name = "tiled",
     .room = KernelRoom::gpu,
     .legal = always,
     .query = query_launch<false>,
     .key_value = key_value_launch<false>,
     .bias = bias_tiles_launch<false>},
    {.name = "tiled_narrow",
     .room = KernelRoom::gpu,
     .legal = takes_wide_chunks,
     .query = query_launch<true>,
     .key_value = key_value_launch<true>,
     .bias = bias_tiles_launch<true>},
};

}  // namespace

std::span<const AttentionKernel> attention_gpu_kernels() { return kernels; }
std::span<const AttentionBackwardKernel> attention_backward_gpu_kernels() { return backward_kernels; }

}  // namespace vkformer
