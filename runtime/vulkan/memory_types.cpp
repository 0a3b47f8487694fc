#include "runtime/vulkan/memory_types.h"

#include <algorithm>

namespace vkformer {

std::vector<uint32_t> fitting_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed,
                                    std::span<const VkMemoryPropertyFlags> wishes) {
  constexpr VkMemoryPropertyFlags plain = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  std::vector<uint32_t> types;
  for (const VkMemoryPropertyFlags wish : wishes)
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
      if ((allowed >> i & 1) && (flags & wish) == wish && (flags & ~plain) == 0 &&
          std::ranges::find(types, i) == types.end())
        types.push_back(i);
    }
  return types;
}

std::vector<uint32_t> host_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed) {
  constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  std::vector<uint32_t> types = fitting_types(memory, allowed, std::span(&host, 1));
  std::ranges::stable_sort(types, {}, [&](uint32_t type) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[type].propertyFlags;
    return (flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT ? 2 : 0) + (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT ? 1 : 0);
  });
  return types;
}

}  // namespace vkformer
