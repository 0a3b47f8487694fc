#pragma once
// Processes that talk by MPI. Built where CMake finds one.

#include <memory>

#include "models/training/process_group.h"

namespace vkformer {

/// Those that this one was started with. MPI ends when the link does.
std::unique_ptr<ProcessLink> join_mpi();

}  // namespace vkformer
