#pragma once
// How much memory a device has, and how much of the host's it reaches.

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>

#include "runtime/device_facts.h"

namespace vkformer {

struct MemoryRoom {
  uint64_t total = 0, free = 0;  ///< bytes of the device's memory
  uint64_t host_free = 0;        ///< bytes of the host's, which kernels reach over the bus; 0: the memory is one
};

/// Of heaps of which so many bytes are `free`. A GPU with memory of its own has its largest heap; of an integrated one
/// all heaps that buffers may lie in are the same memory, and count together.
MemoryRoom memory_room(const VkPhysicalDeviceMemoryProperties& memory, std::span<const uint64_t> free, DeviceKind kind);

/// That of a device now: by VK_EXT_memory_budget, without it by the heaps' sizes. Host memory that GPUs reach can't be
/// swapped out, so of that an eighth of what the system has available is left alone.
MemoryRoom memory_room(VkPhysicalDevice physical, DeviceKind kind);

/// Whether its driver tells what is free of its memory (VK_EXT_memory_budget).
bool counts_memory(VkPhysicalDevice physical);

}  // namespace vkformer
