// What the launches of attention's kernels share.
#include "shaders/attention/attention_launch.h"

#include <algorithm>
#include <bit>

namespace vkformer::attention_launch {

namespace {

constexpr int64_t widest_in_lanes = 128;  ///< a wider head does not pay in registers

uint32_t constant(float value) { return std::bit_cast<uint32_t>(value); }
uint32_t constant(int64_t value) { return static_cast<uint32_t>(value); }

bool is_even(const HeadSource& source) { return source.column % 2 == 0 && source.stride % 2 == 0; }

/// 0 where the window hides nothing. Kernels add it to numbers of keys in 32 bits.
int64_t window_of(const AttentionProblem& problem) {
  if (!problem.has_position && problem.window >= problem.keys) return 0;
  return std::min(problem.window, int64_t{1} << 29);
}

std::string_view variant_of(std::string_view candidate) { return candidate.ends_with("_u64") ? "u64" : "f32"; }

}  // namespace

bool lanes_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return facts.is_cpu() && facts.subgroup_shuffle && facts.full_subgroups && facts.subgroup_size <= 32 &&
         std::max(problem.head_width, problem.value_width) <= widest_in_lanes;
}

bool pairs_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return facts.int64 && problem.head_width % 2 == 0 && problem.value_width % 2 == 0 && is_even(problem.q) &&
         is_even(problem.k) && is_even(problem.v);
}

bool grid_fits(const AttentionProblem& problem, const DeviceFacts& facts) {
  return problem.batches <= facts.max_workgroups[2] && problem.heads * most_decode_queries <= facts.max_workgroups[1];
}

int64_t vectors_per_group(int64_t items, const DeviceFacts& facts) { return items > facts.subgroup_size ? 2 : 1; }

int64_t chunk_of(const AttentionProblem& problem, const DeviceFacts& facts) {
  return facts.shared_memory >= 32768 && std::max(problem.head_width, problem.value_width) > 32 ? 64 : 32;
}

AttentionSource source_args(Recorder& recorder, const Node& node, const AttentionProblem& problem) {
  const auto address = [&](const HeadSource& source) {
    return recorder.address(node.inputs[source.input]) + static_cast<uint64_t>(4 * source.column);
  };
  const auto optional = [&](size_t input) { return node.has_input(input) ? recorder.address(node.inputs[input]) : 0; };
  return {.q = address(problem.q),
          .k = address(problem.k),
          .v = address(problem.v),
          .position = optional(attention_position),
          .seed = optional(attention_seed),
          .mask = optional(attention_mask),
          .bias = optional(attention_bias),
          .queries = static_cast<int>(problem.queries),
          .keys = static_cast<int>(problem.keys),
          .heads = static_cast<int>(problem.heads),
          .q_stride = static_cast<int>(problem.q.stride),
          .k_stride = static_cast<int>(problem.k.stride),
          .v_stride = static_cast<int>(problem.v.stride),
          .shift = static_cast<int>(problem.keys - problem.queries),
          .stream = static_cast<int>(problem.stream)};
}

std::vector<uint32_t> constants(const AttentionProblem& problem, uint32_t workgroup, uint32_t wanted,
                                std::initializer_list<int64_t> own) {
  std::vector<uint32_t> list{workgroup,
                             constant(problem.head_width),
                             constant(problem.value_width),
                             constant(problem.group()),
                             constant(static_cast<float>(problem.scale)),
                             problem.causal,
                             problem.has_position,
                             constant(static_cast<float>(problem.dropout)),
                             wanted,
                             problem.mask_rows == 0   ? 0u
                             : problem.mask_rows == 1 ? 1u
                                                      : 2u,
                             problem.has_bias,
                             (problem.mask_shared ? 1u : 0u) | (problem.bias_shared ? 2u : 0u),
                             constant(window_of(problem)),
                             constant(static_cast<float>(problem.softcap))};
  for (int64_t value : own) list.push_back(constant(value));
  return list;
}

Launch lanes_launch(const Recorder& recorder, std::string_view kernel, std::vector<uint32_t> list, int64_t groups,
                    int64_t heads, int64_t batches) {
  return {.kernel = kernel,
          .variant = variant_of(recorder.candidate()),
          .constants = std::move(list),
          .groups = {groups_for(groups, 1), groups_for(heads, 1), groups_for(batches, 1)},
          .subgroup_size = recorder.device().subgroup_size};
}

Launch threads_launch(std::string_view kernel, std::vector<uint32_t> list, int64_t groups, int64_t heads,
                      int64_t batches) {
  return {.kernel = kernel,
          .constants = std::move(list),
          .groups = {groups_for(groups, 1), groups_for(heads, 1), groups_for(batches, 1)}};
}

}  // namespace vkformer::attention_launch
