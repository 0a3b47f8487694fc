#pragma once
// What the launches of attention's kernels share; internal to this folder.

#include "runtime/recorder.h"
#include "shaders/attention/attention.args.h"
#include "shaders/attention/attention_problem.h"

namespace vkformer::attention_launch {

constexpr int64_t tile = 32;            ///< of the tiled kernels, in queries and keys
constexpr uint32_t tile_threads = 128;  ///< invocations of the tiled kernels and of attention_decode
constexpr int64_t most_decode_queries = 8;

/// The CPU-type kernels keep whole rows in registers and spread them with subgroup operations.
bool lanes_legal(const AttentionProblem& problem, const DeviceFacts& facts);
/// Their u64 variant reads two floats at a time.
bool pairs_legal(const AttentionProblem& problem, const DeviceFacts& facts);
bool grid_fits(const AttentionProblem& problem, const DeviceFacts& facts);

/// Two vectors of queries (or keys) share each spread row, unless there is only one.
int64_t vectors_per_group(int64_t items, const DeviceFacts& facts);
/// Columns of a tile in shared memory: 64 needs 22 KiB, 32 needs 14.
int64_t chunk_of(const AttentionProblem& problem, const DeviceFacts& facts);

AttentionSource source_args(Recorder& recorder, const Node& node, const AttentionProblem& problem);
/// The constants all kernels share, `own` behind them.
std::vector<uint32_t> constants(const AttentionProblem& problem, uint32_t workgroup, uint32_t wanted,
                                std::initializer_list<int64_t> own);

/// Of a kernel whose workgroup is one subgroup, in the variant that the candidate names.
Launch lanes_launch(const Recorder& recorder, std::string_view kernel, std::vector<uint32_t> list, int64_t groups,
                    int64_t heads, int64_t batches);
Launch threads_launch(std::string_view kernel, std::vector<uint32_t> list, int64_t groups, int64_t heads,
                      int64_t batches);

}  // namespace vkformer::attention_launch
