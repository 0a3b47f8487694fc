// Which kernels an attention or attention_backward node may use, and the forward pass with the one chosen.
#include <algorithm>

#include "shaders/attention/attention.h"
#include "shaders/attention/attention_kernel.h"

namespace vkformer {

using namespace attention_launch;

namespace {

/// The rows of both rooms, best first.
template <class Kernel>
using Rooms = std::array<std::span<const Kernel>, 2>;

Rooms<AttentionKernel> forward_rooms() { return {attention_software_kernels(), attention_gpu_kernels()}; }
Rooms<AttentionBackwardKernel> backward_rooms() {
  return {attention_backward_software_kernels(), attention_backward_gpu_kernels()};
}

bool grid_fits(const AttentionProblem& problem, const DeviceFacts& facts) {
  return problem.batches <= facts.max_workgroups[2] && problem.group() <= int64_t{ATTENTION_GROUP_BITS} &&
         problem.heads * AttentionProblem::most_decode_queries <= facts.max_workgroups[1];
}

bool takes_types(const AttentionKernel& kernel, const AttentionProblem& problem) {
  return problem.mixed() ? kernel.half_keys : kernel.halves || !is_half(problem.type);
}
bool takes_types(const AttentionBackwardKernel& kernel, const AttentionProblem& problem) {
  return kernel.halves || !is_half(problem.type);
}

template <class Kernel>
std::vector<std::string_view> legal_names(const Rooms<Kernel>& rooms, const Node& node, const DeviceFacts& facts) {
  const AttentionProblem problem(node);
  std::vector<std::string_view> preferred, others;
  if (!grid_fits(problem, facts)) return preferred;
  for (const auto& room : rooms)
    for (const Kernel& kernel : room)
      if (takes_types(kernel, problem) && kernel.legal(problem, facts))
        (!kernel.first || kernel.first(problem, facts) ? preferred : others).push_back(kernel.name);
  preferred.insert(preferred.end(), others.begin(), others.end());
  return preferred;
}

template <class Kernel>
const Kernel& named(const Rooms<Kernel>& rooms, std::string_view op, std::string_view name) {
  for (const auto& room : rooms)
    for (const Kernel& kernel : room)
      if (kernel.name == name) return kernel;
  fail("[{}] there is no kernel '{}'", op, name);
}

/// A value that is rounded moves 6 bytes, in the time in which plain cores multiply it by some 15 queries. What a cache
/// of f32 holds behind the last query is rounded as well, seen by none: so it depends on what is seen from position 0
/// on.
bool rounding_pays(const AttentionProblem& problem, bool of_cache) {
  constexpr int64_t fewest_queries = 64, fewest_uses = 32;
  if (problem.mixed() || !of_cache) return problem.queries >= fewest_queries;
  int64_t pairs = 0;
  for (int64_t t = 0; t < problem.queries; ++t)
    pairs += std::max<int64_t>(problem.key_end(t, 0) - problem.key_begin(t, 0), 0);
  return problem.queries >= fewest_queries && pairs * problem.group() >= fewest_uses * problem.keys;
}

int64_t kernel_scratch(const AttentionKernel& kernel, const AttentionProblem& problem) {
  return kernel.scratch ? kernel.scratch(problem) : 0;
}

}  // namespace

const AttentionKernel& attention_kernel(std::string_view name) { return named(forward_rooms(), "attention", name); }
const AttentionBackwardKernel& attention_backward_kernel(std::string_view name) {
  return named(backward_rooms(), "attention_backward", name);
}

std::vector<std::string_view> attention_candidates(const Node& node, const DeviceFacts& facts) {
  return legal_names(forward_rooms(), node, facts);
}
std::vector<std::string_view> attention_backward_candidates(const Node& node, const DeviceFacts& facts) {
  return legal_names(backward_rooms(), node, facts);
}

bool matrix_attention_pays(const Node& node, DType type, const DeviceFacts& facts, bool of_cache) {
  const AttentionProblem problem(node);
  const bool fits = problem.type == DType::f32 && (!problem.mixed() || problem.k.type == type);
  if (!fits || !is_half(type) || !rounding_pays(problem, of_cache)) return false;
  Node rounded = node;
  for (const HeadSource& source : {problem.q, problem.k, problem.v}) rounded.input_types[source.input].dtype = type;
  const std::vector<std::string_view> names = attention_candidates(rounded, facts);
  return !names.empty() && names.front().starts_with("matrix");
}

KernelRoom attention_room(std::string_view candidate) { return attention_kernel(candidate).room; }
KernelRoom attention_backward_room(std::string_view candidate) { return attention_backward_kernel(candidate).room; }

int64_t attention_scratch(const Node& node, const DeviceFacts&, std::string_view candidate) {
  const AttentionProblem problem(node);
  return kernel_scratch(attention_kernel(candidate), problem) + gathered_step_bytes(problem);
}

void attention_record(Recorder& recorder, const Node& node) {
  const AttentionProblem problem(node);
  const AttentionKernel& kernel = attention_kernel(recorder.candidate());
  const AttentionArgs args{.source = source_args(recorder, node, problem, kernel_scratch(kernel, problem)),
                           .result = recorder.address(node.outputs[0]),
                           .log_sum_exp = recorder.address(node.outputs[1]),
                           .sinks = problem.has_sinks ? recorder.address(node.inputs[attention_sinks]) : 0};
  const uint32_t wanted = (args.result ? 1u : 0u) | (args.log_sum_exp ? 2u : 0u);
  if (kernel.record) return kernel.record(recorder, node, problem, args, wanted);
  Launch launch = kernel.launch(problem, recorder.device(), wanted);
  set_variant(launch, kernel, problem);
  recorder.dispatch(launch, args);
}

void attention_weights_record(Recorder& recorder, const Node& node) {
  constexpr int64_t threads = 128;
  AttentionProblem problem(node);
  problem.dropout = 0;        // the weights are those before it
  problem.has_sinks = false;  // log_sum_exp has them
  const int64_t elements = node.out(0).elements();
  recorder.dispatch(
      Launch{.kernel = "attention_weights",
             .constants = constants(problem, threads, 1, {}),
             .groups = spread_groups(recorder.device(), static_cast<uint64_t>((elements + threads - 1) / threads))},
      AttentionWeightsArgs{.source = source_args(recorder, node, problem, 0),
                           .log_sum_exp = recorder.address(node.inputs[attention_weights_log_sum_exp]),
                           .weights = recorder.address(node.outputs[0]),
                           .elements = static_cast<uint32_t>(elements)});
}

}  // namespace vkformer
