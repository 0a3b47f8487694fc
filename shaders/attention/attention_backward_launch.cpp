// Which kernels an attention_backward node may use, and their launches.
#include "shaders/attention/attention_launch.h"

namespace vkformer {

using namespace attention_launch;

namespace {

void record_bias(Recorder& recorder, const Node& node, const AttentionProblem& problem, AttentionBackwardArgs args) {
  const Value gradient = node.outputs.back();
  args.target = recorder.address(gradient);
  if (!args.target) return;
  const DeviceFacts& facts = recorder.device();
  const bool lanes = recorder.candidate() != "tiled";
  const int64_t query_block = lanes ? 8 : tile, key_block = lanes ? facts.subgroup_size : tile;
  const uint64_t blocks = uint64_t{groups_for(problem.queries, query_block)} * groups_for(problem.keys, key_block);
  const int64_t targets = problem.heads * (problem.bias_shared ? 1 : problem.batches);
  Launch launch = lanes ? lanes_launch(recorder, "attention_backward_bias_lanes",
                                       constants(problem, facts.subgroup_size, 1, {}), 1, 1, 1)
                        : threads_launch("attention_backward_bias_tiled",
                                         constants(problem, tile_threads, 1, {chunk_of(problem, facts)}), 1, 1, 1);
  launch.groups = spread_groups(facts, blocks * static_cast<uint64_t>(targets));
  launch.writes = {recorder.region(gradient)};
  recorder.dispatch(launch, args);
}

}  // namespace

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
  const auto elements = static_cast<double>(problem.rows() * problem.value_width);
  delta.cost = {.bytes = 8 * elements, .flops = 2 * elements};
  recorder.dispatch(delta, AttentionDeltaArgs{.result = recorder.address(node.inputs[attention_result]),
                                              .upstream = upstream,
                                              .log_sum_exp = recorder.address(node.inputs[attention_log_sum_exp]),
                                              .terms = terms,
                                              .queries = static_cast<int>(problem.queries),
                                              .heads = static_cast<int>(problem.heads)});

  const bool lanes = recorder.candidate() != "tiled";
  AttentionBackwardArgs args{.source = source_args(recorder, node, problem),
                             .upstream = upstream,
                             .terms = terms,
                             .target = target(problem.q),
                             .target_v = 0,
                             .batches = static_cast<int>(problem.batches)};
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

  if (problem.has_bias) record_bias(recorder, node, problem, args);

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
