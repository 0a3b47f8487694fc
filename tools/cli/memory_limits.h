#pragma once
// Sizes of memory on the command line.

#include <string>

#include "runtime/device_facts.h"

namespace vkformer {

/// Of --device-memory, "6G", "500M", "4096K", bytes, or a share of what is free, "80%"; and of --host-memory, the same
/// without shares. Empty: no limit. Throws Error for anything else.
MemoryLimits memory_limits(const std::string& device, const std::string& host);

}  // namespace vkformer
