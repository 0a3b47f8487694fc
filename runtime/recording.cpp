#include "runtime/recording.h"

#include <algorithm>

namespace vkformer {

std::vector<Command> record_graph(const Graph& graph, const DeviceFacts& facts, const PipelineSource& pipelines,
                                  const MemoryPlan& plan, const Placement& placement, uint64_t readback) {
  Recorder recorder(graph, facts, pipelines, placement);
  for (int node : plan.live_nodes) recorder.record(node, plan.candidate[static_cast<size_t>(node)]);
  recorder.leave_nodes();
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Place& place = plan.readback[i];
    const Region& result = placement.values[static_cast<size_t>(graph.outputs()[i].id)];
    const Region target{readback + static_cast<uint64_t>(place.offset), static_cast<uint64_t>(place.bytes)};
    if (result.address != target.address) recorder.copy(result, target);
  }
  std::vector<Command> commands = recorder.take_commands();
  // What other programs wrote to the store becomes visible here.
  if (!commands.empty()) commands.front().barrier_before = true;
  return commands;
}

CommandCounts count_commands(std::span<const Command> commands) {
  return {.dispatches = commands.size(),
          .barriers = static_cast<uint64_t>(std::ranges::count_if(commands, &Command::barrier_before))};
}

}  // namespace vkformer
