#pragma once
// A planned graph as commands.

#include "runtime/backend.h"
#include "runtime/recorder.h"

namespace vkformer {

/// The commands of one run: those of the nodes, then copies of those outputs that the plan does not place there to a
/// buffer at the address `readback`. The first one waits for what ran before.
std::vector<Command> record_graph(const Graph& graph, const DeviceFacts& facts, const PipelineSource& pipelines,
                                  const MemoryPlan& plan, const Placement& placement, uint64_t readback);

CommandCounts count_commands(std::span<const Command> commands);

}  // namespace vkformer
