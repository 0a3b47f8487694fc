#pragma once
// Vulkan objects that are given back when their owner ends, also where making it failed half-way.

#include <memory>
#include <type_traits>

#include "runtime/vulkan/loader_lock.h"
#include "runtime/vulkan/vk_check.h"

namespace vkformer {

struct DestroyInstance {
  void operator()(VkInstance instance) const {
    alone_in_loader([&] { vkDestroyInstance(instance, nullptr); });
  }
};
using OwnedInstance = std::unique_ptr<VkInstance_T, DestroyInstance>;

struct DestroyDevice {
  void operator()(VkDevice device) const {
    alone_in_loader([&] { vkDestroyDevice(device, nullptr); });
  }
};
using OwnedDevice = std::unique_ptr<VkDevice_T, DestroyDevice>;

/// A function of a device that an extension adds.
template <class Function>
Function device_function(VkDevice device, const char* name) {
  return shared_in_loader([&] { return reinterpret_cast<Function>(vkGetDeviceProcAddr(device, name)); });
}

/// Gives an object back to the device it is of, by the call `destroy`.
template <auto destroy>
struct DestroyOf {
  VkDevice device = nullptr;
  template <class Object>
  void operator()(Object* object) const {
    destroy(device, object, nullptr);
  }
};
/// An object of a device, which must live longer.
template <class Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, DestroyOf<destroy>>;
using OwnedBuffer = Owned<VkBuffer, vkDestroyBuffer>;
using OwnedMemory = Owned<VkDeviceMemory, vkFreeMemory>;
using OwnedFence = Owned<VkFence, vkDestroyFence>;
using OwnedCommandPool = Owned<VkCommandPool, vkDestroyCommandPool>;
using OwnedQueryPool = Owned<VkQueryPool, vkDestroyQueryPool>;
using OwnedShaderModule = Owned<VkShaderModule, vkDestroyShaderModule>;
using OwnedPipeline = Owned<VkPipeline, vkDestroyPipeline>;
using OwnedPipelineCache = Owned<VkPipelineCache, vkDestroyPipelineCache>;
using OwnedPipelineLayout = Owned<VkPipelineLayout, vkDestroyPipelineLayout>;

/// What vkCreateX(device, info) makes, or vkAllocateMemory. Throws Error naming the call. A call that fails leaves its
/// result undefined, so nothing is read of that.
template <class Owner, class Create, class Info>
Owner make_owned(VkDevice device, Create create, const Info& info, const char* call) {
  typename Owner::pointer object = nullptr;
  vk_check(create(device, &info, nullptr, &object), call);
  return Owner(object, {device});
}

}  // namespace vkformer
