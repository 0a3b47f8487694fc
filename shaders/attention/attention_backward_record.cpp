// The backward pass: delta, then a dispatch for each gradient, with the kernel chosen.
#include <algorithm>
#include <bit>

#include "shaders/attention/attention_kernel.h"

namespace vkformer {

using namespace attention_launch;

namespace {

/// Where the gradients of one node go.
struct Targets {
  Recorder& recorder;
  const Node& node;
  const AttentionProblem& problem;

  Value output_of(size_t input) const { return node.outputs[gradient_output(node, input)]; }
  Region region(const HeadSource& source) const { return recorder.region(output_of(source.input)); }
  /// Of head 0's first column; 0 when nobody wants it.
  uint64_t address(const HeadSource& source) const {
    const uint64_t address = region(source).address;
    return address ? address + source.offset() : 0;
  }
};

int64_t terms_bytes(const AttentionProblem& problem) { return problem.rows() * 8; }

/// Columns that belong to none of q, k, v get zeros.
void fill_margins(const Targets& targets) {
  const Node& node = targets.node;
  const AttentionProblem& problem = targets.problem;
  for (size_t i : {attention_q, attention_k, attention_v}) {
    if (!node.has_input(i)) continue;
    int64_t covered = 0;
    for (const HeadSource& source : {problem.q, problem.k, problem.v})
      if (source.input == i) covered += source.width;
    const Region whole = targets.recorder.region(targets.output_of(i));
    if (covered < node.in(i).columns() && whole.address) targets.recorder.fill(whole, 0);
  }
}

/// Lanes that share a query in attention_backward_delta: one for each load of it, which has 16 bytes where its width
/// divides into those; of wide heads a lane takes several. Software drivers load lane by lane anyway.
uint32_t delta_lanes(const AttentionProblem& problem, const DeviceFacts& facts) {
  if (facts.is_cpu()) return 1;
  const auto bytes = static_cast<uint32_t>(problem.value_width * size_of(problem.type));
  return std::min(std::bit_ceil(bytes / (bytes % 16 == 0 ? 16 : 4)), 16u);
}

void record_delta(Recorder& recorder, const Node& node, const AttentionProblem& problem) {
  constexpr uint32_t invocations = 128;
  const uint32_t lanes = delta_lanes(problem, recorder.device());
  Launch launch =
      block_launch("attention_backward_delta", {invocations, static_cast<uint32_t>(problem.value_width), lanes},
                   groups_for(problem.queries, invocations / lanes), problem.heads, problem.batches);
  if (is_half(problem.type)) launch.variant = name_of(problem.type);
  launch.writes = {recorder.scratch_region(0, static_cast<uint64_t>(terms_bytes(problem)))};
  const auto elements = static_cast<double>(problem.rows() * problem.value_width);
  launch.cost = {.bytes = 2 * static_cast<double>(size_of(problem.type)) * elements, .flops = 2 * elements};
  recorder.dispatch(launch, AttentionDeltaArgs{.result = recorder.address(node.inputs[attention_result]),
                                               .upstream = recorder.address(node.inputs[attention_upstream]),
                                               .log_sum_exp = recorder.address(node.inputs[attention_log_sum_exp]),
                                               .terms = recorder.scratch(),
                                               .queries = static_cast<int>(problem.queries),
                                               .heads = static_cast<int>(problem.heads)});
}

void record_sinks(const Targets& targets) {
  Recorder& recorder = targets.recorder;
  const AttentionProblem& problem = targets.problem;
  const Region target = recorder.region(targets.output_of(attention_sinks));
  if (!target.address) return;
  Launch launch = block_launch("attention_backward_sinks", {128}, problem.heads, 1, 1);
  launch.writes = {target};
  const auto rows = static_cast<double>(problem.rows());
  launch.cost = {.bytes = 8 * rows, .flops = 4 * rows};
  recorder.dispatch(launch, AttentionSinksBackwardArgs{.terms = recorder.scratch(),
                                                       .sinks = recorder.address(targets.node.inputs[attention_sinks]),
                                                       .target = target.address,
                                                       .queries = static_cast<int>(problem.queries),
                                                       .heads = static_cast<int>(problem.heads),
                                                       .batches = static_cast<int>(problem.batches)});
}

}  // namespace

int64_t attention_backward_scratch(const Node& node, const DeviceFacts&, std::string_view) {
  const AttentionProblem problem(node);
  return terms_bytes(problem) + gathered_step_bytes(problem);
}

void attention_backward_record(Recorder& recorder, const Node& node) {
  const bool has_sinks = node.has_input(attention_sinks);
  AttentionProblem problem(node);
  problem.has_sinks = false;  // log_sum_exp has them: to the other gradients they are nothing new
  const DeviceFacts& facts = recorder.device();
  const AttentionBackwardKernel& kernel = attention_backward_kernel(recorder.candidate());
  const Targets targets{recorder, node, problem};
  const auto dispatch = [&](Launch launch, std::vector<Region> writes, const auto& args, bool apart = false) {
    set_variant(launch, kernel, problem);
    launch.writes = std::move(writes);
    launch.apart = apart;
    recorder.dispatch(launch, args);
  };
  fill_margins(targets);
  record_delta(recorder, node, problem);
  AttentionBackwardArgs args{.source = source_args(recorder, node, problem, terms_bytes(problem)),
                             .upstream = recorder.address(node.inputs[attention_upstream]),
                             .terms = recorder.scratch(),
                             .target = targets.address(problem.q),
                             .target_v = 0};
  if (args.target) dispatch(kernel.query(problem, facts), {targets.region(problem.q)}, args);

  if (const Region bias = problem.has_bias ? recorder.region(targets.output_of(attention_bias)) : Region{};
      bias.address)
    dispatch(kernel.bias(problem, facts), {bias},
             AttentionBiasBackwardArgs{.source = args.source,
                                       .upstream = args.upstream,
                                       .terms = args.terms,
                                       .target = bias.address,
                                       .batches = static_cast<int>(problem.batches)});

  if (has_sinks) record_sinks(targets);

  args.target = targets.address(problem.k);
  args.target_v = targets.address(problem.v);
  // Margins were filled before delta, which both it and the query's kernel wait for.
  const auto dispatch_keys = [&](uint32_t wanted) {
    std::vector<Region> writes;
    if (wanted & 1u) writes.push_back(targets.region(problem.k));
    if (wanted & 2u) writes.push_back(targets.region(problem.v));
    if (wanted) dispatch(kernel.key_value(problem, facts, wanted), std::move(writes), args, true);
  };
  const uint32_t wanted = (args.target ? 1u : 0u) | (args.target_v ? 2u : 0u);
  if (!kernel.keys_apart) return dispatch_keys(wanted);
  dispatch_keys(wanted & 1u);
  dispatch_keys(wanted & 2u);
}

}  // namespace vkformer
