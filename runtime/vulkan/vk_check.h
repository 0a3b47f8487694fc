#pragma once
// The one way a Vulkan call fails.

#include <vulkan/vulkan.h>

#include <string>
#include <vector>

namespace vkformer {

/// "device lost (-4)", with what people should know of it.
std::string result_text(VkResult result);

/// Throws Error naming the call and the result unless `result` is VK_SUCCESS; DeviceLost where the device is gone.
void vk_check(VkResult result, const char* call);
/// The same of a call that waits for a device's work, with the name of that: Device::label().
void vk_check(VkResult result, const char* call, const std::string& device);

/// What Vulkan lists in two calls, first how many and then which. `list(count, items)` makes them, and `empty` is what
/// an item is before. Throws Error naming the call.
template <class Item, class List>
std::vector<Item> listed(const char* call, List list, const Item& empty = {}) {
  std::vector<Item> items;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {  // again where there are more by the second call
    uint32_t count = 0;
    vk_check(list(&count, nullptr), call);
    if (count == 0) return {};
    items.assign(count, empty);
    result = list(&count, items.data());
    items.resize(count);
  }
  vk_check(result, call);
  return items;
}

}  // namespace vkformer
