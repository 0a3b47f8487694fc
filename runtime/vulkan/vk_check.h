#pragma once
// The one way a Vulkan call fails.

#include <vulkan/vulkan.h>

namespace vkformer {

/// Throws Error naming the call and the result unless `result` is VK_SUCCESS.
void vk_check(VkResult result, const char* call);

}  // namespace vkformer
