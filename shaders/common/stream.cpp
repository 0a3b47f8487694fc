#include "shaders/common/stream.h"

#include "runtime/quirks.h"

#include <algorithm>
#include <bit>

namespace vkformer {

std::vector<std::string_view> stream_candidates(const Node&, const DeviceFacts& facts) {
  if (!facts.int64) return {"quads"};
  if (!facts.is_cpu()) return {"quads", "words"};
  if (packed_stores_abort(facts)) return {"quads"};
  return {"words", "quads"};
}

std::vector<std::string_view> typed_stream_candidates(const Node& node, const DeviceFacts& facts) {
  const DType type = node.input_types[0].dtype;
  if (is_half(type)) return {name_of(type)};
  return stream_candidates(node, facts);
}

KernelRoom stream_room(std::string_view candidate) {
  return candidate.ends_with("words") ? KernelRoom::cpu : KernelRoom::any;
}

// A CPU driver runs a workgroup on one thread and pays for each subgroup of it: one subgroup that walks 4096 elements
// measured fastest on lavapipe. A GPU wants many short workgroups.
uint32_t stream_workgroup(const DeviceFacts& facts) {
  if (facts.is_cpu()) return std::max(facts.subgroup_size, 4u);
  return std::bit_floor(std::min(facts.max_workgroup_size, 256u));
}

Stream stream_over(const DeviceFacts& facts, int64_t elements) {
  check(elements < int64_t{1} << 31, "one tensor has {} elements; kernels address at most 2^31 - 1", elements);
  return {static_cast<uint32_t>(elements), facts.is_cpu() ? 1024 : stream_workgroup(facts)};
}

uint32_t stream_groups(const Stream& stream) { return std::max(groups_for(stream.elements / 4, stream.span), 1u); }

Launch stream_launch(const Recorder& recorder, std::string_view kernel, const Stream& stream,
                     std::vector<uint32_t> constants) {
  constants.insert(constants.begin(), stream_workgroup(recorder.device()));
  return {.kernel = kernel,
          .variant = recorder.candidate(),
          .constants = std::move(constants),
          .groups = spread_groups(recorder.device(), stream_groups(stream))};
}

// A kernel copies at the speed of memory; on an H200 vkCmdCopyBuffer makes a fifth of it (docs/benchmarks.md). On CPUs
// drivers copy by memcpy.
void stream_copy(Recorder& recorder, Region source, Region target) {
  const bool vectors = source.bytes % 4 == 0 && source.address % 16 == 0 && target.address % 16 == 0;
  if (recorder.device().is_cpu() || !vectors) return recorder.copy(source, target);
  const StreamCopyArgs args{.x = source.address,
                            .y = target.address,
                            .stream = stream_over(recorder.device(), static_cast<int64_t>(source.bytes / 4))};
  Launch launch = stream_launch(recorder, "stream_copy", args.stream);
  launch.variant = "quads";
  launch.reads = {source};
  launch.writes = {target};
  launch.cost = Cost{.bytes = 2 * static_cast<double>(source.bytes)};
  recorder.dispatch(launch, args);
}

}  // namespace vkformer
