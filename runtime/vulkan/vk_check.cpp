#include "runtime/vulkan/vk_check.h"

#include "runtime/check.h"

namespace vkformer {

namespace {

const char* name_of(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
    case VK_ERROR_INITIALIZATION_FAILED: return "initialization failed";
    case VK_ERROR_DEVICE_LOST: return "device lost (the driver reset it; a dispatch ran too long or read out of range)";
    case VK_ERROR_LAYER_NOT_PRESENT: return "layer not present (see VK_INSTANCE_LAYERS)";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "extension not present";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "feature not present";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "no compatible Vulkan driver";
    case VK_ERROR_UNKNOWN: return "unknown error";
    case VK_ERROR_INVALID_SHADER_NV: return "invalid shader";
    default: return "error";
  }
}

}  // namespace

std::string result_text(VkResult result) { return fmt::format("{} ({})", name_of(result), static_cast<int>(result)); }

void vk_check(VkResult result, const char* call) { vk_check(result, call, {}); }

void vk_check(VkResult result, const char* call, const std::string& device) {
  if (result == VK_SUCCESS) return;
  const std::string begin = device.empty() ? "" : device + ": ";
  if (result == VK_ERROR_DEVICE_LOST) throw DeviceLost(fmt::format("{}{} failed: {}", begin, call, name_of(result)));
  fail("{}{} failed: {}", begin, call, result_text(result));
}

}  // namespace vkformer
