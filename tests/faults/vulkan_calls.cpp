// The Vulkan calls that can fail, and a count of the objects that they make. Calls that are found by name alone belong
// to extensions that vkformer can do without.

#include <vulkan/vulkan.h>

#include <cstring>

#include "tests/faults/faults.h"

namespace {

using faults::given_back;
using faults::Kind;
using faults::made;
using faults::strikes;

/// What a call fails with, or VK_SUCCESS.
VkResult fault_of_memory(const char* call) {
  // Both count.
  const bool host = strikes(Kind::host_memory, call), device = strikes(Kind::device_memory, call);
  return host ? VK_ERROR_OUT_OF_HOST_MEMORY : device ? VK_ERROR_OUT_OF_DEVICE_MEMORY : VK_SUCCESS;
}

VkResult fault_of_work(const char* call) {
  if (strikes(Kind::device_lost, call)) return VK_ERROR_DEVICE_LOST;
  return fault_of_memory(call);
}

/// Vulkan leaves open what a call that fails writes: no address that can be used.
template <class Handle>
void spoil(Handle* handle) {
  std::memset(handle, 0xa5, sizeof *handle);
}

}  // namespace

// clang-format off
#define NEXT(name) static const auto next = faults::next<PFN_##name>(#name)
/// A call that may run out of memory.
#define MAY_FAIL(name, parameters, ...)                                          \
  VKAPI_ATTR VkResult VKAPI_CALL name parameters {                               \
    NEXT(name);                                                                  \
    const VkResult fault = CALLED_BY_US ? fault_of_memory(#name) : VK_SUCCESS;   \
    return fault != VK_SUCCESS ? fault : next(__VA_ARGS__);                      \
  }
/// .. and that makes an object, the last of its arguments.
#define MAKES(name, Object, parameters, result, ...)                             \
  VKAPI_ATTR VkResult VKAPI_CALL name parameters {                               \
    NEXT(name);                                                                  \
    const VkResult fault = CALLED_BY_US ? fault_of_memory(#name) : VK_SUCCESS;   \
    if (fault != VK_SUCCESS) return spoil(result), fault;                        \
    const VkResult status = next(__VA_ARGS__, result);                           \
    if (status == VK_SUCCESS) made(#Object);                                     \
    return status;                                                               \
  }
#define GIVES_BACK(name, Object, parameters, object, ...)                        \
  VKAPI_ATTR void VKAPI_CALL name parameters {                                   \
    NEXT(name);                                                                  \
    if (object) given_back(#Object);                                             \
    next(__VA_ARGS__);                                                           \
  }
/// Both, of a device's objects that are made in the usual way.
#define OBJECT(Object)                                                                                              \
  MAKES(vkCreate##Object, Vk##Object,                                                                               \
        (VkDevice device, const Vk##Object##CreateInfo* info, const VkAllocationCallbacks* own, Vk##Object* object), \
        object, device, info, own)                                                                                  \
  GIVES_BACK(vkDestroy##Object, Vk##Object, (VkDevice device, Vk##Object object, const VkAllocationCallbacks* own), \
             object, device, object, own)
// clang-format on

extern "C" {

OBJECT(Buffer)
OBJECT(Fence)
OBJECT(CommandPool)
OBJECT(PipelineLayout)
OBJECT(PipelineCache)
OBJECT(ShaderModule)
OBJECT(QueryPool)
MAKES(vkCreateInstance, VkInstance,
      (const VkInstanceCreateInfo* info, const VkAllocationCallbacks* own, VkInstance* instance), instance, info, own)
GIVES_BACK(vkDestroyInstance, VkInstance, (VkInstance instance, const VkAllocationCallbacks* own), instance, instance,
           own)
MAKES(vkCreateDevice, VkDevice,
      (VkPhysicalDevice physical, const VkDeviceCreateInfo* info, const VkAllocationCallbacks* own, VkDevice* device),
      device, physical, info, own)
GIVES_BACK(vkDestroyDevice, VkDevice, (VkDevice device, const VkAllocationCallbacks* own), device, device, own)
MAKES(vkAllocateMemory, VkDeviceMemory,
      (VkDevice device, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks* own, VkDeviceMemory* memory),
      memory, device, info, own)
GIVES_BACK(vkFreeMemory, VkDeviceMemory, (VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* own),
           memory, device, memory, own)
MAKES(vkCreateComputePipelines, VkPipeline,  // one at a time
      (VkDevice device, VkPipelineCache cache, uint32_t count, const VkComputePipelineCreateInfo* infos,
       const VkAllocationCallbacks* own, VkPipeline* pipelines),
      pipelines, device, cache, count, infos, own)
GIVES_BACK(vkDestroyPipeline, VkPipeline, (VkDevice device, VkPipeline pipeline, const VkAllocationCallbacks* own),
           pipeline, device, pipeline, own)

MAY_FAIL(vkEnumerateInstanceExtensionProperties,
         (const char* layer, uint32_t* count, VkExtensionProperties* properties), layer, count, properties)
MAY_FAIL(vkEnumeratePhysicalDevices, (VkInstance instance, uint32_t* count, VkPhysicalDevice* devices), instance, count,
         devices)
MAY_FAIL(vkEnumerateDeviceExtensionProperties,
         (VkPhysicalDevice device, const char* layer, uint32_t* count, VkExtensionProperties* properties), device,
         layer, count, properties)
MAY_FAIL(vkBindBufferMemory, (VkDevice device, VkBuffer buffer, VkDeviceMemory memory, VkDeviceSize offset), device,
         buffer, memory, offset)
MAY_FAIL(vkMapMemory,
         (VkDevice device, VkDeviceMemory memory, VkDeviceSize offset, VkDeviceSize size, VkMemoryMapFlags flags,
          void** data),
         device, memory, offset, size, flags, data)
MAY_FAIL(vkAllocateCommandBuffers, (VkDevice device, const VkCommandBufferAllocateInfo* info, VkCommandBuffer* buffers),
         device, info, buffers)
MAY_FAIL(vkBeginCommandBuffer, (VkCommandBuffer commands, const VkCommandBufferBeginInfo* info), commands, info)
MAY_FAIL(vkEndCommandBuffer, (VkCommandBuffer commands), commands)
MAY_FAIL(vkGetPipelineCacheData, (VkDevice device, VkPipelineCache cache, size_t* size, void* data), device, cache,
         size, data)
MAY_FAIL(vkResetFences, (VkDevice device, uint32_t count, const VkFence* fences), device, count, fences)

VKAPI_ATTR VkResult VKAPI_CALL vkQueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  NEXT(vkQueueSubmit);
  const VkResult fault = CALLED_BY_US ? fault_of_work("vkQueueSubmit") : VK_SUCCESS;
  return fault != VK_SUCCESS ? fault : next(queue, count, infos, fence);
}

// A device that is lost does nothing any more, whoever waits for it. One that only can't tell goes on working.
VKAPI_ATTR VkResult VKAPI_CALL vkDeviceWaitIdle(VkDevice device) {
  NEXT(vkDeviceWaitIdle);
  const VkResult fault = CALLED_BY_US ? fault_of_work("vkDeviceWaitIdle") : VK_SUCCESS;
  if (fault == VK_SUCCESS || fault == VK_ERROR_DEVICE_LOST) {
    const VkResult status = next(device);
    if (fault == VK_SUCCESS) return status;
  }
  return fault;
}

VKAPI_ATTR VkResult VKAPI_CALL vkWaitForFences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                                               uint64_t timeout) {
  NEXT(vkWaitForFences);
  const VkResult fault = CALLED_BY_US ? fault_of_work("vkWaitForFences") : VK_SUCCESS;
  if (fault == VK_ERROR_DEVICE_LOST) faults::next<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(device);
  return fault != VK_SUCCESS ? fault : next(device, count, fences, all, timeout);
}

// Who only looks hears of it when waiting.
VKAPI_ATTR VkResult VKAPI_CALL vkGetFenceStatus(VkDevice device, VkFence fence) {
  NEXT(vkGetFenceStatus);
  const VkResult fault = CALLED_BY_US ? fault_of_work("vkGetFenceStatus") : VK_SUCCESS;
  return fault != VK_SUCCESS ? fault : next(device, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL vkGetQueryPoolResults(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count,
                                                     size_t size, void* data, VkDeviceSize stride,
                                                     VkQueryResultFlags flags) {
  NEXT(vkGetQueryPoolResults);
  const VkResult fault = CALLED_BY_US ? fault_of_work("vkGetQueryPoolResults") : VK_SUCCESS;
  return fault != VK_SUCCESS ? fault : next(device, pool, first, count, size, data, stride, flags);
}

}  // extern "C"
