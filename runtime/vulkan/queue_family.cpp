#include "runtime/vulkan/queue_family.h"

namespace vkformer {

std::optional<uint32_t> compute_family(std::span<const VkQueueFamilyProperties> families, uint32_t vendor_id) {
  constexpr uint32_t amd = 0x1002;
  std::optional<uint32_t> first;
  for (uint32_t i = 0; i < families.size(); ++i) {
    const VkQueueFamilyProperties& family = families[i];
    if (!(family.queueFlags & VK_QUEUE_COMPUTE_BIT) || family.queueCount == 0) continue;
    if (!first) first = i;
    if (vendor_id == amd) break;
    if (!(family.queueFlags & VK_QUEUE_GRAPHICS_BIT) &&
        family.timestampValidBits >= families[*first].timestampValidBits)
      return i;
  }
  return first;
}

}  // namespace vkformer
