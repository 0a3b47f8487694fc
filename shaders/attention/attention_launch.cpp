// Which kernels a node may use, and their launches.
#include <algorithm>
#include <bit>

#include "runtime/recorder.h"
#include "shaders/attention/attention.args.h"
#include "shaders/attention/attention_problem.h"

namespace vkformer {

namespace {

constexpr int64_t tile = 32;              ///< of the tiled kernels, in queries and keys
constexpr uint32_t tile_threads = 128;    ///< invocations of the tiled kernels and of attention_decode
constexpr int64_t widest_in_lanes = 128;  ///< a wider head does not pay in registers
constexpr int64_t most_decode_queries = 8;

uint32_t constant(float value) { return std::bit_cast<uint32_t>(value); }
uint32_t constant(int64_t value) { return static_cast<uint32_t>(value); }

bool is_even(const HeadSource& source) { return source.column % 2 == 0 && source.stride % 2 == 0; }

/// The CPU-type kernels keep whole rows in registers and spread them with subgroup operations.
bool lanes_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return facts.is_cpu() && facts.subgroup_shuffle && facts.full_subgroups && facts.subgroup_size <= 32 &&
         std::max(problem.head_width, problem.value_width) <= widest_in_lanes;
}
/// Their u64 variant reads two floats at a time.
bool pairs_legal(const AttentionProblem& problem, const DeviceFacts& facts) {
  return facts.int64 && problem.head_width % 2 == 0 && problem.value_width % 2 == 0 && is_even(problem.q) &&
         is_even(problem.k) && is_even(problem.v);
}
bool grid_fits(const AttentionProblem& problem, const DeviceFacts& facts) {
  return problem.batches <= facts.max_workgroups[2] && problem.heads * most_decode_queries <= facts.max_workgroups[1];
}
bool decode_legal(const AttentionProblem& problem) {
  return problem.queries <= most_decode_queries && problem.dropout == 0;
}

std::string_view variant_of(std::string_view candidate) { return candidate.ends_with("_u64") ? "u64" : "f32"; }
bool in_lanes(std::string_view candidate) { return candidate.find("lanes") != std::string_view::npos; }

/// Two vectors of queries (or keys) share each spread row, unless there is only one.
int64_t vectors_per_group(int64_t items, const DeviceFacts& facts) { return items > facts.subgroup_size ? 2 : 1; }
/// Columns of a tile in shared memory: 64 needs 22 KiB, 32 needs 14.
int64_t chunk_of(const AttentionProblem& problem, const DeviceFacts& facts) {
  return facts.shared_memory >= 32768 && std::max(problem.head_width, problem.value_width) > 32 ? 64 : 32;
}

/// attention_decode's split of the keys over workgroups, so that a few queries fill the device.
struct DecodeSplit {
  int64_t parts, part_keys;
};
DecodeSplit decode_split(const AttentionProblem& problem) {
  constexpr int64_t wanted_groups = 256, step = tile_threads;
  const int64_t most = (problem.keys + step - 1) / step;
  const int64_t parts = std::clamp<int64_t>(wanted_groups / problem.rows(), 1, most);
  const int64_t part_keys = (most + parts - 1) / parts * step;
  return {(problem.keys + part_keys - 1) / part_keys, part_keys};
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
          .queries = static_cast<int>(problem.queries),
          .keys = static_cast<int>(problem.keys),
          .heads = static_cast<int>(problem.heads),
          .q_stride = static_cast<int>(problem.q.stride),
          .k_stride = static_cast<int>(problem.k.stride),
          .v_stride = static_cast<int>(problem.v.stride),
          .shift = static_cast<int>(problem.keys - problem.queries),
          .stream = static_cast<int>(problem.stream)};
}

/// The constants all kernels share, `own` behind them.
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
                             wanted};
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

void record_decode(Recorder& recorder, const Node& node, const AttentionProblem& problem, AttentionArgs args,
                   uint32_t wanted) {
  const DecodeSplit split = decode_split(problem);
  int64_t column_threads = 1;
  while (column_threads < problem.value_width && column_threads < tile_threads) column_threads *= 2;
  Launch launch = threads_launch(
      "attention_decode", constants(problem, tile_threads, wanted, {split.part_keys, split.parts, column_threads}),
      split.parts, problem.heads * problem.queries, problem.batches);
  if (split.parts == 1) return recorder.dispatch(launch, args);

  const auto sums = static_cast<uint64_t>(problem.rows() * split.parts * 8);
  const auto parts = static_cast<uint64_t>(problem.rows() * split.parts * problem.value_width * 4);
  const AttentionMergeArgs merge{.parts = recorder.scratch() + sums,
                                 .sums = recorder.scratch(),
                                 .result = args.result,
                                 .log_sum_exp = args.log_sum_exp,
                                 .queries = args.source.queries,
                                 .heads = args.source.heads,
                                 .part_count = static_cast<int>(split.parts)};
  args.result = merge.parts;
  args.log_sum_exp = merge.sums;
  launch.constants[ATTENTION_FLAGS] = 3;
  const Region scratch = recorder.scratch_region(0, sums + parts);
  launch.writes = {scratch};
  recorder.dispatch(launch, args);
  Launch join = threads_launch("attention_decode_merge", constants(problem, 64, wanted, {}), problem.queries,
                               problem.heads, problem.batches);
  join.reads = {scratch};
  for (Value output : node.outputs)
    if (recorder.address(output)) join.writes.push_back(recorder.region(output));
  recorder.dispatch(join, merge);
}

}  // namespace

std::vector<std::string_view> attention_candidates(const Node& node, const DeviceFacts& facts) {
  const AttentionProblem problem(node);
  std::vector<std::string_view> list;
  if (!grid_fits(problem, facts)) return list;
  const auto add_lanes = [&](std::string_view pairs, std::string_view single) {
    if (pairs_legal(problem, facts)) list.push_back(pairs);
    list.push_back(single);
  };
  const bool lanes = lanes_legal(problem, facts), decode = decode_legal(problem);
  if (lanes && decode) add_lanes("decode_lanes_u64", "decode_lanes");
  if (lanes) add_lanes("lanes_u64", "lanes");
  if (decode) list.push_back("decode");
  list.push_back("tiled");
  return list;
}

int64_t attention_scratch(const Node& node, const DeviceFacts&, std::string_view candidate) {
  if (candidate != "decode") return 0;
  const AttentionProblem problem(node);
  const DecodeSplit split = decode_split(problem);
  return split.parts == 1 ? 0 : problem.rows() * split.parts * (2 + problem.value_width) * 4;
}

void attention_record(Recorder& recorder, const Node& node) {
  const AttentionProblem problem(node);
  const DeviceFacts& facts = recorder.device();
  const AttentionArgs args{.source = source_args(recorder, node, problem),
                           .result = recorder.address(node.outputs[0]),
                           .log_sum_exp = recorder.address(node.outputs[1])};
  const uint32_t wanted = (args.result ? 1u : 0u) | (args.log_sum_exp ? 2u : 0u);
  const std::string_view candidate = recorder.candidate();
  if (candidate == "decode") return record_decode(recorder, node, problem, args, wanted);
  if (candidate == "tiled")
    return recorder.dispatch(
        threads_launch("attention_tiled", constants(problem, tile_threads, wanted, {chunk_of(problem, facts)}),
                       groups_for(problem.queries, tile), problem.heads, problem.batches),
        args);
  if (candidate.starts_with("decode_lanes")) {
    const int64_t rows = problem.queries * problem.group();
    const int64_t per_group = std::min<int64_t>(rows, 8);
    return recorder.dispatch(
        lanes_launch(recorder, "attention_decode_lanes", constants(problem, facts.subgroup_size, wanted, {per_group}),
                     groups_for(rows, per_group), problem.kv_heads, problem.batches),
        args);
  }
  const int64_t vectors = vectors_per_group(problem.queries, facts);
  recorder.dispatch(
      lanes_launch(recorder, "attention_lanes", constants(problem, facts.subgroup_size, wanted, {vectors}),
                   groups_for(problem.queries, vectors * facts.subgroup_size), problem.heads, problem.batches),
      args);
}

std::vector<std::string_view> attention_backward_candidates(const Node& node, const DeviceFacts& facts) {
  const AttentionProblem problem(node);
  std::vector<std::string_view> list;
  if (!grid_fits(problem, facts)) return list;
  const bool lanes = lanes_legal(problem, facts);
  if (lanes && pairs_legal(problem, facts)) list.push_back("lanes_u64");
  if (lanes) list.push_back("lanes");
  list.push_back("tiled");
  return list;
}

int64_t attention_backward_scratch(const Node& node, const DeviceFacts&, std::string_view) {
  return AttentionProblem(node).rows() * 8;
}

void attention_backward_record(Recorder& recorder, const Node& node) {
  const AttentionProblem problem(node);
  const DeviceFacts& facts = recorder.device();
  const auto output_of = [&](const HeadSource& source) {
    size_t o = 0;
    for (size_t i = 0; i < source.input; ++i) o += node.has_input(i);
    return node.outputs[o];
  };
  const auto target = [&](const HeadSource& source) -> uint64_t {
    const uint64_t address = recorder.address(output_of(source));
    return address ? address + static_cast<uint64_t>(4 * source.column) : 0;
  };
  // Columns that belong to none of q, k, v get zeros.
  for (size_t i : {attention_q, attention_k, attention_v}) {
    if (!node.has_input(i)) continue;
    HeadSource whole{.input = i};
    int64_t covered = 0;
    for (const HeadSource& source : {problem.q, problem.k, problem.v})
      if (source.input == i) covered += source.width;
    if (covered < node.in(i).columns() && recorder.address(output_of(whole)))
      recorder.fill(recorder.region(output_of(whole)), 0);
  }

  const uint64_t upstream = recorder.address(node.inputs[attention_upstream]);
  const uint64_t terms = recorder.scratch();
  Launch delta = threads_launch("attention_backward_delta", constants(problem, 64, 0, {}),
                                groups_for(problem.queries, 64), problem.heads, problem.batches);
  delta.writes = {recorder.scratch_region(0, static_cast<uint64_t>(problem.rows() * 8))};
  recorder.dispatch(delta, AttentionDeltaArgs{.result = recorder.address(node.inputs[attention_result]),
                                              .upstream = upstream,
                                              .log_sum_exp = recorder.address(node.inputs[attention_log_sum_exp]),
                                              .terms = terms,
                                              .queries = static_cast<int>(problem.queries),
                                              .heads = static_cast<int>(problem.heads)});

  const bool lanes = in_lanes(recorder.candidate());
  AttentionBackwardArgs args{.source = source_args(recorder, node, problem),
                             .upstream = upstream,
                             .terms = terms,
                             .target = target(problem.q),
                             .target_v = 0};
  if (args.target) {
    const int64_t vectors = vectors_per_group(problem.queries, facts);
    const int64_t key_block = problem.dropout > 0 ? 4 : 2;  // dropout's factors come in fours
    Launch launch =
        lanes ? lanes_launch(recorder, "attention_backward_query_lanes",
                             constants(problem, facts.subgroup_size, 1, {vectors, key_block}),
                             groups_for(problem.queries, vectors * facts.subgroup_size), problem.heads, problem.batches)
              : threads_launch("attention_backward_query_tiled",
                               constants(problem, tile_threads, 1, {chunk_of(problem, facts)}),
                               groups_for(problem.queries, tile), problem.heads, problem.batches);
    launch.writes = {recorder.region(output_of(problem.q))};
    recorder.dispatch(launch, args);
  }

  args.target = target(problem.k);
  args.target_v = target(problem.v);
  const uint32_t wanted = (args.target ? 1u : 0u) | (args.target_v ? 2u : 0u);
  if (!wanted) return;
  const int64_t vectors = vectors_per_group(problem.keys, facts);
  Launch launch =
      lanes ? lanes_launch(recorder, "attention_backward_key_value_lanes",
                           constants(problem, facts.subgroup_size, wanted, {vectors}),
                           groups_for(problem.keys, vectors * facts.subgroup_size), problem.kv_heads, problem.batches)
            : threads_launch("attention_backward_key_value_tiled",
                             constants(problem, tile_threads, wanted, {chunk_of(problem, facts)}),
                             groups_for(problem.keys, tile), problem.kv_heads, problem.batches);
  for (const HeadSource& source : {problem.k, problem.v})
    if (target(source)) launch.writes.push_back(recorder.region(output_of(source)));
  recorder.dispatch(launch, args);
}

}  // namespace vkformer
