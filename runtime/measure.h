#pragma once
// What all that measures kernels has in common.

#include <map>

#include "runtime/backend.h"

namespace vkformer {

/// Runs the program until it has been busy for 20 ms, and at least `runs` times: the clocks of a GPU that was idle rise
/// only after some tens of milliseconds, and drivers may compile in the first run.
void warm_up(Program& program, int runs = 1);

/// Seconds that each node took in the last run, by its index: from the beginning of its first dispatch to the end of
/// its last.
std::map<int, double> node_seconds(const Program& program);

}  // namespace vkformer
