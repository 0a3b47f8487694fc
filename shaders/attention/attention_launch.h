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

/// A workgroup for each block, head and batch.
Launch block_launch(std::string_view kernel, std::vector<uint32_t> constants, int64_t blocks, int64_t heads,
                    int64_t batches);
/// A workgroup for each block of the bias' gradient, all in a row.
Launch bias_launch(std::string_view kernel, std::vector<uint32_t> constants, const AttentionProblem& problem,
                   const DeviceFacts& facts, int64_t query_block, int64_t key_block);

}  // namespace vkformer::attention_launch
