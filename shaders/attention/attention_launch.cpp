#include "shaders/attention/attention_launch.h"

#include <algorithm>
#include <bit>

namespace vkformer::attention_launch {

namespace {

uint32_t constant(int64_t value) { return static_cast<uint32_t>(value); }

/// 0 where the window hides nothing. Kernels add it to numbers of keys in 32 bits.
int64_t window_of(const AttentionProblem& problem) {
  if (!problem.has_position && problem.window >= problem.keys) return 0;
  return std::min(problem.window, int64_t{1} << 29);
}

uint32_t rules_of(const AttentionProblem& problem) {
  const auto flag = [](bool set, uint32_t bit) { return set ? bit : 0; };
  return constant(problem.group()) | flag(problem.causal, ATTENTION_CAUSAL) |
         flag(problem.has_position, ATTENTION_POSITION) | flag(!problem.position_shared, ATTENTION_POSITION_OF_BATCH) |
         flag(problem.mask_rows > 1, ATTENTION_MASK_OF_QUERY) |
         flag(problem.mask_rows > 0 && !problem.mask_shared, ATTENTION_MASK_OF_BATCH) |
         flag(problem.has_bias && !problem.bias_shared, ATTENTION_BIAS_OF_BATCH);
}

/// Where {position?, seed, step} lie: in the one input that has them, or gathered from both. Drivers may perform loads
/// whose result nobody uses, so without either it is q.
uint64_t step_address(Recorder& recorder, const Node& node, const AttentionProblem& problem, int64_t scratch_offset) {
  if (problem.dropout == 0)
    return recorder.address(node.inputs[problem.has_position ? attention_position : attention_q]);
  const Region seed = recorder.region(node.inputs[attention_seed]);
  if (!problem.has_position) return seed.address;
  const Region position = recorder.region(node.inputs[attention_position]);
  const Region gathered = recorder.scratch_region(static_cast<uint64_t>(scratch_offset), 12);
  recorder.copy({position.address, 4}, {gathered.address, 4});
  recorder.copy({seed.address, 8}, {gathered.address + 4, 8});
  return gathered.address;
}

}  // namespace

bool is_decode(const AttentionProblem& problem) {
  return problem.queries <= AttentionProblem::most_decode_queries && problem.dropout == 0;
}

int64_t gathered_step_bytes(const AttentionProblem& problem) {
  return problem.has_position && problem.dropout > 0 ? 12 : 0;
}

AttentionSource source_args(Recorder& recorder, const Node& node, const AttentionProblem& problem,
                            int64_t scratch_offset) {
  const auto address = [&](const HeadSource& source) {
    return recorder.address(node.inputs[source.input]) + source.offset();
  };
  const auto optional = [&](size_t input) { return node.has_input(input) ? recorder.address(node.inputs[input]) : 0; };
  return {.q = address(problem.q),
          .k = address(problem.k),
          .v = address(problem.v),
          .step = step_address(recorder, node, problem, scratch_offset),
          .mask = optional(attention_mask),
          .bias = optional(attention_bias),
          .queries = static_cast<int>(problem.queries),
          .keys = static_cast<int>(problem.keys),
          .heads = static_cast<int>(problem.heads),
          .rules = rules_of(problem),
          .q_stride = static_cast<int>(problem.q.stride),
          .k_stride = static_cast<int>(problem.k.stride),
          .v_stride = static_cast<int>(problem.v.stride),
          .window = static_cast<int>(window_of(problem)),
          .scale = static_cast<float>(problem.scale),
          .softcap = static_cast<float>(problem.softcap),
          .dropout = static_cast<float>(problem.dropout),
          .stream = constant(problem.stream)};
}

std::vector<uint32_t> constants(const AttentionProblem& problem, uint32_t workgroup, uint32_t wanted,
                                std::initializer_list<int64_t> own) {
  std::vector<uint32_t> list{workgroup,
                             constant(problem.value_width),
                             wanted,
                             problem.has_sinks,
                             constant(problem.head_width),
                             problem.dropout > 0,
                             problem.mask_rows > 0,
                             problem.has_bias,
                             window_of(problem) > 0,
                             problem.softcap > 0};
  for (int64_t value : own) list.push_back(constant(value));
  return list;
}

void PartialResults::record_merge(Recorder& recorder, Region result, Region log_sum_exp, Region sinks) const {
  const uint32_t wanted = (result.address ? 1u : 0u) | (log_sum_exp.address ? 2u : 0u);
  Launch launch = block_launch("attention_decode_merge", {64, constant(value_width), wanted, sinks.address != 0},
                               queries, heads, batches);
  launch.reads = {region(recorder)};
  if (sinks.address) launch.reads.push_back(sinks);
  for (const Region& written : {result, log_sum_exp})
    if (written.address) launch.writes.push_back(written);
  launch.cost = {.bytes = static_cast<double>(bytes())};
  recorder.dispatch(launch, AttentionMergeArgs{.parts = results(recorder),
                                               .sums = sums(recorder),
                                               .result = result.address,
                                               .log_sum_exp = log_sum_exp.address,
                                               .sinks = sinks.address,
                                               .queries = static_cast<int>(queries),
                                               .heads = static_cast<int>(heads),
                                               .part_count = static_cast<int>(parts)});
}

Launch block_launch(std::string_view kernel, std::vector<uint32_t> constants, int64_t blocks, int64_t heads,
                    int64_t batches) {
  return {.kernel = kernel,
          .constants = std::move(constants),
          .groups = {groups_for(blocks, 1), groups_for(heads, 1), groups_for(batches, 1)}};
}

Launch bias_launch(std::string_view kernel, std::vector<uint32_t> constants, const AttentionProblem& problem,
                   const DeviceFacts& facts, int64_t query_block, int64_t key_block) {
  const uint64_t blocks = uint64_t{groups_for(problem.queries, query_block)} * groups_for(problem.keys, key_block);
  const int64_t targets = problem.heads * (problem.bias_shared ? 1 : problem.batches);
  return {.kernel = kernel,
          .constants = std::move(constants),
          .groups = spread_groups(facts, blocks * static_cast<uint64_t>(targets))};
}

}  // namespace vkformer::attention_launch
