#pragma once
// What the launches of attention's kernels share; internal to this folder.

#include "runtime/recorder.h"
#include "shaders/attention/attention.args.h"
#include "shaders/attention/attention_problem.h"

namespace vkformer::attention_launch {

/// Whether a kernel for a few queries over many keys, which knows no dropout, may compute the node.
bool is_decode(const AttentionProblem& problem);

/// The workspace in which source_args() gathers what changes from step to step, where it comes from two inputs.
int64_t gathered_step_bytes(const AttentionProblem& problem);
/// `scratch_offset` is where those bytes begin in the node's workspace.
AttentionSource source_args(Recorder& recorder, const Node& node, const AttentionProblem& problem,
                            int64_t scratch_offset);

/// The constants all kernels share, `own` behind them.
std::vector<uint32_t> constants(const AttentionProblem& problem, uint32_t workgroup, uint32_t wanted,
                                std::initializer_list<int64_t> own);

/// Workgroups that share the keys of a few queries should be so many together.
inline constexpr int64_t wanted_decode_groups = 256;

/// What parts of the keys leave of `queries` of each head and batch for attention_decode_merge, in the node's
/// workspace.
struct PartialResults {
  int64_t batches, heads, queries, value_width, parts;

  int64_t rows() const { return batches * heads * queries * parts; }
  int64_t sum_bytes() const { return rows() * 8; }
  /// 0 of one part, which leaves nothing.
  int64_t bytes() const { return parts == 1 ? 0 : sum_bytes() + rows() * value_width * 4; }
  Region region(const Recorder& recorder) const { return recorder.scratch_region(0, static_cast<uint64_t>(bytes())); }
  uint64_t sums(const Recorder& recorder) const { return recorder.scratch(); }
  uint64_t results(const Recorder& recorder) const { return recorder.scratch() + static_cast<uint64_t>(sum_bytes()); }
  /// Joins them to the result, and log_sum_exp if that has an address; with the sinks where there are any.
  void record_merge(Recorder& recorder, Region result, Region log_sum_exp, Region sinks) const;
};

/// A workgroup for each block, head and batch.
Launch block_launch(std::string_view kernel, std::vector<uint32_t> constants, int64_t blocks, int64_t heads,
                    int64_t batches);
/// A workgroup for each block of the bias' gradient, all in a row.
Launch bias_launch(std::string_view kernel, std::vector<uint32_t> constants, const AttentionProblem& problem,
                   const DeviceFacts& facts, int64_t query_block, int64_t key_block);

}  // namespace vkformer::attention_launch
