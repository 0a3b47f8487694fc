#pragma once
// What a device offers of products on matrix cores.

#include <vulkan/vulkan.h>

#include "runtime/device_facts.h"

namespace vkformer {

/// Fills matrix_shapes and workgroup_matrices, whether or not this build has kernels for them.
void add_matrix_facts(VkInstance instance, VkPhysicalDevice handle, DeviceFacts& facts);

}  // namespace vkformer
