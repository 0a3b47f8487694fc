#pragma once
// Which of a device's memory types a buffer may lie in.

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <vector>

namespace vkformer {

/// Memory types among the `allowed` (bits) that have all of one of the wishes, best wish first. None that is for
/// something else, or that a feature would have to be enabled for (protected, AMD's device-coherent, lazily allocated
/// memory).
std::vector<uint32_t> fitting_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                                    std::span<const VkMemoryPropertyFlags> wishes);

/// Memory types among the `allowed` for what the host holds and kernels read over the bus, best first: not the device's
/// own, and not the host's cached one, whose lines the bus would have to look for in the host's caches. Last, where all
/// memory is one, whatever the host sees.
std::vector<uint32_t> host_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed);

}  // namespace vkformer
