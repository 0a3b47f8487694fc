#include "runtime/vulkan/buffer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/vulkan/memory_types.h"

namespace vkformer {

Buffer::Buffer(Device& device, uint64_t bytes, Memory memory, const std::string& name) : device_(device), size_(bytes) {
  const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = bytes,
                                .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                         VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                         VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  buffer_ = make_owned<OwnedBuffer>(device.handle(), vkCreateBuffer, info, "vkCreateBuffer");
  allocate(memory);
  const VkBufferDeviceAddressInfo address{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = handle()};
  address_ = vkGetBufferDeviceAddress(device.handle(), &address);
  device.names().name(VK_OBJECT_TYPE_BUFFER, handle(), name);
  device.names().name(VK_OBJECT_TYPE_DEVICE_MEMORY, memory_.get(), name);
}

void Buffer::allocate(Memory memory) {
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_.handle(), handle(), &needs);
  std::vector<VkMemoryPropertyFlags> wishes = {local};
  // An integrated GPU's other heaps are the same memory.
  if (device_.facts().kind == DeviceKind::integrated) wishes.push_back(0);
  if (memory == Memory::upload) wishes = {local | host, host};
  if (memory == Memory::readback) wishes = {host | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, host};
  const VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  // The window onto a GPU's memory that the host sees may be full, which some drivers tell only when memory is mapped,
  // while plain host memory is not.
  VkPhysicalDeviceMemoryProperties types;
  vkGetPhysicalDeviceMemoryProperties(device_.physical(), &types);
  std::vector<uint32_t> fitting = fitting_types(types, needs.memoryTypeBits, wishes);
  const std::vector<uint32_t> of_host = host_types(types, needs.memoryTypeBits);
  if (memory == Memory::host) fitting = of_host;
  const size_t own = fitting.size();
  if (memory == Memory::weights)
    for (uint32_t type : of_host)
      if (std::ranges::find(fitting, type) == fitting.end()) fitting.push_back(type);
  for (uint32_t type : fitting) {
    const VkMemoryAllocateInfo allocation{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                          .pNext = &flags,
                                          .allocationSize = needs.size,
                                          .memoryTypeIndex = type};
    VkDeviceMemory memory_of_type = nullptr;
    result = vkAllocateMemory(device_.handle(), &allocation, nullptr, &memory_of_type);
    if (result != VK_SUCCESS) continue;
    OwnedMemory attempt(memory_of_type, {device_.handle()});
    if (memory == Memory::upload || memory == Memory::readback) {
      void* pointer = nullptr;
      result = vkMapMemory(device_.handle(), attempt.get(), 0, VK_WHOLE_SIZE, 0, &pointer);
      if (result != VK_SUCCESS) continue;
      mapped_ = static_cast<std::byte*>(pointer);
    }
    memory_ = std::move(attempt);
    moved_ = std::ranges::find(fitting, type) - fitting.begin() >= static_cast<std::ptrdiff_t>(own);
    break;
  }
  check(result == VK_SUCCESS, "{} can't give {} MiB of memory ({}); use a smaller model, batch or context",
        device_.facts().name, (size_ >> 20) + 1, static_cast<int>(result));
  vk_check(vkBindBufferMemory(device_.handle(), handle(), memory_.get(), 0), "vkBindBufferMemory");
}

}  // namespace vkformer
