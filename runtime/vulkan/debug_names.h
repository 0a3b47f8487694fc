#pragma once
// Names of Vulkan objects for the tools that show them: the validation layer, RenderDoc, Radeon GPU Profiler, Nsight.

#include <vulkan/vulkan.h>

#include <string>

namespace vkformer {

/// VK_EXT_debug_utils of one device. Without the extension every call does nothing.
class DebugNames {
 public:
  DebugNames() = default;
  /// `instance` was made with the extension.
  DebugNames(VkInstance instance, VkDevice device);

  explicit operator bool() const { return set_ != nullptr; }
  template <class Handle>
  void name(VkObjectType type, Handle object, const std::string& text) const {
    if (*this) name_object(type, reinterpret_cast<uint64_t>(object), text);
  }
  /// What is recorded between the two shows under this label; labels may lie within each other.
  void begin_label(VkCommandBuffer commands, const std::string& text) const;
  void end_label(VkCommandBuffer commands) const;

 private:
  void name_object(VkObjectType type, uint64_t object, const std::string& text) const;

  VkDevice device_ = nullptr;
  PFN_vkSetDebugUtilsObjectNameEXT set_ = nullptr;
  PFN_vkCmdBeginDebugUtilsLabelEXT begin_ = nullptr;
  PFN_vkCmdEndDebugUtilsLabelEXT end_ = nullptr;
};

}  // namespace vkformer
