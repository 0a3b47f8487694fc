#pragma once
// What all that measures kernels has in common.

#include <map>

#include "runtime/backend.h"

namespace vkformer {

/// Runs the program until it has been busy for 20 ms, and at least `runs` times: the clocks of a GPU that was idle rise
/// only after some tens of milliseconds, and drivers may compile in the first run.
void warm_up(Program& program, int runs = 1);

}  // namespace vkformer
