// The kernels of attention for drivers that run a subgroup as one CPU vector: whole rows in registers, spread with
// subgroup operations.

#include <algorithm>

#include "shaders/attention/attention_kernel.h"

namespace vkformer {

using namespace attention_launch;

namespace {

constexpr int64_t widest_in_lanes = 128;  ///< a wider head does not pay in registers

bool lanes_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return facts.is_cpu() && facts.subgroup_shuffle && facts.full_subgroups && facts.subgroup_size <= 32 &&
         std::max(problem.head_width, problem.value_width) <= widest_in_lanes;
}

bool is_even(const HeadSource& source) { return source.column % 2 == 0 && source.stride % 2 == 0; }

/// The u64 variant reads two floats at a time.
bool pairs_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return lanes_legal(problem, facts) && facts.int64 && problem.head_width % 2 == 0 && problem.value_width % 2 == 0 &&
         is_even(problem.q) && is_even(problem.k) && is_even(problem.v);
}

bool decode_lanes_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return lanes_legal(problem, facts) && is_decode(problem);
}

bool decode_pairs_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return pairs_legal(problem, facts) && is_decode(problem);
}

/// Two vectors of queries (or keys) share each spread row, unless there is only one.
int64_t vectors_of(int64_t items, const DeviceFacts& facts) { return items > facts.subgroup_size ? 2 : 1; }

std::vector<uint32_t> lanes_constants(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted,
                                      std::initializer_list<int64_t> own) {
  return constants(problem, facts.subgroup_size, wanted, own);
}

/// A workgroup is one subgroup.
Launch lanes_launch(Launch launch, const DeviceFacts& facts) {
  launch.subgroup_size = facts.subgroup_size;
  return launch;
}

/// `vectors` vectors of `items` queries or keys a workgroup.
Launch vectors_launch(std::string_view kernel, std::vector<uint32_t> constants, const AttentionProblem& problem,
                      const DeviceFacts& facts, int64_t items, int64_t heads) {
  const int64_t per_group = vectors_of(items, facts) * facts.subgroup_size;
  return lanes_launch(block_launch(kernel, std::move(constants), groups_for(items, per_group), heads, problem.batches),
                      facts);
}

Launch decode_launch(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  const int64_t rows = problem.queries * problem.group();
  const int64_t per_group = std::min<int64_t>(rows, 8);
  return lanes_launch(block_launch("attention_decode_lanes", lanes_constants(problem, facts, wanted, {per_group}),
                                   groups_for(rows, per_group), problem.kv_heads, problem.batches),
                      facts);
}

Launch forward_launch(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  return vectors_launch("attention_lanes",
                        lanes_constants(problem, facts, wanted, {vectors_of(problem.queries, facts)}), problem, facts,
                        problem.queries, problem.heads);
}

Launch query_launch(const AttentionProblem& problem, const DeviceFacts& facts) {
  const int64_t key_block = problem.dropout > 0 ? 4 : 2;  // dropout's factors come in fours
  return vectors_launch("attention_backward_query_lanes",
                        lanes_constants(problem, facts, 1, {vectors_of(problem.queries, facts), key_block}), problem,
                        facts, problem.queries, problem.heads);
}

Launch key_value_launch(const AttentionProblem& problem, const DeviceFacts& facts, uint32_t wanted) {
  return vectors_launch("attention_backward_key_value_lanes",
                        lanes_constants(problem, facts, wanted, {vectors_of(problem.keys, facts)}), problem, facts,
                        problem.keys, problem.kv_heads);
}

Launch bias_lanes_launch(const AttentionProblem& problem, const DeviceFacts& facts) {
  constexpr int64_t query_block = 8;
  return lanes_launch(bias_launch("attention_backward_bias_lanes", lanes_constants(problem, facts, 1, {}), problem,
                                  facts, query_block, facts.subgroup_size),
                      facts);
}

constexpr AttentionKernel kernels[] = {
    {.name = "decode_lanes_u64",
     .room = KernelRoom::cpu,
     .legal = decode_pairs_legal,
     .launch = decode_launch,
     .variant = "u64"},
    {.name = "decode_lanes", .room = KernelRoom::cpu, .legal = decode_lanes_legal, .launch = decode_launch},
    {.name = "lanes_u64", .room = KernelRoom::cpu, .legal = pairs_legal, .launch = forward_launch, .variant = "u64"},
    {.name = "lanes", .room = KernelRoom::cpu, .legal = lanes_legal, .launch = forward_launch},
};

constexpr AttentionBackwardKernel backward_kernels[] = {
    {.name = "lanes_u64",
     .room = KernelRoom::cpu,
     .legal = pairs_legal,
     .query = query_launch,
     .key_value = key_value_launch,
     .bias = bias_lanes_launch,
     .variant = "u64"},
    {.name = "lanes",
     .room = KernelRoom::cpu,
     .legal = lanes_legal,
     .query = query_launch,
     .key_value = key_value_launch,
     .bias = bias_lanes_launch},
};

}  // namespace

std::span<const AttentionKernel> attention_software_kernels() { return kernels; }
std::span<const AttentionBackwardKernel> attention_backward_software_kernels() { return backward_kernels; }

}  // namespace vkformer
