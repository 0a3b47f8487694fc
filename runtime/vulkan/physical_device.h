#pragma once
// What a Vulkan device offers, in plain facts.

#include <vulkan/vulkan.h>

#include <string>

#include "runtime/device_facts.h"

namespace vkformer {

/// Vulkan's structs of features, chained.
struct DeviceFeatures {
  VkPhysicalDeviceVulkan13Features v13{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &v13};
  VkPhysicalDeviceVulkan11Features v11{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &v12};
  VkPhysicalDeviceFeatures2 all{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v11};

  DeviceFeatures() = default;
  DeviceFeatures(const DeviceFeatures&) = delete;
  DeviceFeatures& operator=(const DeviceFeatures&) = delete;
};

/// A physical device and what is known of it.
struct InspectedDevice {
  VkPhysicalDevice handle;
  DeviceFacts facts;
  std::string unusable;  ///< why the runtime can't use it; empty when it can
};

/// Its names, numbers, kind and memory: what drivers of all versions tell.
DeviceFacts basic_facts(VkPhysicalDevice device);

InspectedDevice inspect(VkInstance instance, VkPhysicalDevice handle);

bool has_extension(VkPhysicalDevice device, const char* name);

}  // namespace vkformer
