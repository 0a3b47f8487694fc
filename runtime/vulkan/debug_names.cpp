#include "runtime/vulkan/debug_names.h"

#include "runtime/vulkan/loader_lock.h"

namespace vkformer {

namespace {

// Of the instance: the loader answers for drivers that do not know these calls, while a layer does.
template <class Function>
Function find(VkInstance instance, const char* name) {
  return reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
}

}  // namespace

DebugNames::DebugNames(VkInstance instance, VkDevice device)
    : device_(device),
      set_(find<PFN_vkSetDebugUtilsObjectNameEXT>(instance, "vkSetDebugUtilsObjectNameEXT")),
      begin_(find<PFN_vkCmdBeginDebugUtilsLabelEXT>(instance, "vkCmdBeginDebugUtilsLabelEXT")),
      end_(find<PFN_vkCmdEndDebugUtilsLabelEXT>(instance, "vkCmdEndDebugUtilsLabelEXT")) {}

void DebugNames::name_object(VkObjectType type, uint64_t object, const std::string& text) const {
  const VkDebugUtilsObjectNameInfoEXT info{.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
                                           .objectType = type,
                                           .objectHandle = object,
                                           .pObjectName = text.c_str()};
  shared_in_loader([&] { set_(device_, &info); });  // a name that can't be kept is no error
}

void DebugNames::begin_label(VkCommandBuffer commands, const std::string& text) const {
  if (!*this) return;
  const VkDebugUtilsLabelEXT label{.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = text.c_str()};
  shared_in_loader([&] { begin_(commands, &label); });
}

void DebugNames::end_label(VkCommandBuffer commands) const {
  if (*this) shared_in_loader([&] { end_(commands); });
}

}  // namespace vkformer
