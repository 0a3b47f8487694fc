#pragma once
// Processes that mpirun, srun or their like started together.

#include <memory>

#include "models/training/process_group.h"
#include "tools/cli/commands.h"

namespace vkformer {

/// How this process talks with those that were started with it; nullptr when it was started alone. Throws Error when
/// they can't talk, because this build has no MPI.
std::unique_ptr<ProcessLink> join_processes();

/// The device that this process takes, as --device would name it: of a list with commas the entry of its number among
/// the processes of its machine, of what is left open each process another GPU, as far as there are enough. `hosts`:
/// the machine of each process.
std::string device_of_process(const std::string& asked, const std::vector<std::string>& hosts, int rank);

}  // namespace vkformer
