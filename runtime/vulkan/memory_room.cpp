#include "runtime/vulkan/memory_room.h"

#include <algorithm>
#include <vector>

#include "runtime/host/machine.h"
#include "runtime/vulkan/memory_types.h"
#include "runtime/vulkan/physical_device.h"

namespace vkformer {

MemoryRoom memory_room(const VkPhysicalDeviceMemoryProperties& memory, std::span<const uint64_t> free,
                       DeviceKind kind) {
  constexpr VkMemoryPropertyFlags any = 0,
                                  host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const auto has_type = [&](uint32_t heap, const VkMemoryPropertyFlags& wish) {
    return std::ranges::any_of(fitting_types(memory, ~0u, std::span(&wish, 1)),
                               [&](uint32_t type) { return memory.memoryTypes[type].heapIndex == heap; });
  };
  MemoryRoom room;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    const bool local = (memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    if (kind == DeviceKind::integrated) {
      if (!has_type(i, any)) continue;
      room.total += memory.memoryHeaps[i].size;
      room.free += free[i];
    } else if (local) {
      room.total = std::max<uint64_t>(room.total, memory.memoryHeaps[i].size);
      room.free = std::max(room.free, free[i]);
    } else if (has_type(i, host)) {
      room.host_free = std::max(room.host_free, free[i]);
    }
  }
  if (kind == DeviceKind::cpu) room.host_free = 0;
  return room;
}

MemoryRoom memory_room(VkPhysicalDevice physical, DeviceKind kind) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{.sType =
                                                       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
                                           .pNext = &budget};
  const bool budgeted = counts_memory(physical);
  if (!budgeted) memory.pNext = nullptr;
  vkGetPhysicalDeviceMemoryProperties2(physical, &memory);
  std::vector<uint64_t> free;
  for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i)
    free.push_back(budgeted && budget.heapBudget[i] > 0
                       ? budget.heapBudget[i] - std::min(budget.heapUsage[i], budget.heapBudget[i])
                       : memory.memoryProperties.memoryHeaps[i].size);
  MemoryRoom room = memory_room(memory.memoryProperties, free, kind);
  if (room.host_free > 0) room.host_free = std::min(room.host_free, host::available_memory() / 8 * 7);
  return room;
}

bool counts_memory(VkPhysicalDevice physical) { return has_extension(physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME); }

}  // namespace vkformer
