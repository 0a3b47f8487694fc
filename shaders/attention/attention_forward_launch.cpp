// Which kernels an attention node may use, and their launches.
#include <algorithm>

#include "shaders/attention/attention_launch.h"

namespace vkformer {

using namespace attention_launch;

namespace {

bool decode_legal(const AttentionProblem& problem) {
  return problem.queries <= most_decode_queries && problem.dropout == 0;
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
  join.cost = {.bytes = static_cast<double>(scratch.bytes)};
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

void attention_weights_record(Recorder& recorder, const Node& node) {
  constexpr int64_t threads = 128;
  const AttentionProblem problem(node);
  const int64_t elements = node.out(0).elements();
  recorder.dispatch(
      Launch{.kernel = "attention_weights",
             .constants = constants(problem, threads, 1, {}),
             .groups = spread_groups(recorder.device(), static_cast<uint64_t>((elements + threads - 1) / threads))},
      AttentionWeightsArgs{.source = source_args(recorder, node, problem),
                           .log_sum_exp = recorder.address(node.inputs[attention_weights_log_sum_exp]),
                           .weights = recorder.address(node.outputs[0]),
                           .elements = static_cast<uint32_t>(elements)});
}

}  // namespace vkformer
