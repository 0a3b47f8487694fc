#include "runtime/vulkan/buffer.h"

#include "runtime/check.h"

namespace vkformer {

namespace {

/// The first memory type that has all of one of the wishes, best wish first.
uint32_t choose_type(VkPhysicalDevice physical, uint32_t allowed, std::span<const VkMemoryPropertyFlags> wishes) {
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  for (VkMemoryPropertyFlags wish : wishes)
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i)
      if ((allowed >> i & 1) && (memory.memoryTypes[i].propertyFlags & wish) == wish) return i;
  fail("the device has no memory type that a buffer can use");
}

}  // namespace

Buffer::Buffer(Device& device, uint64_t bytes, Memory memory) : device_(device), size_(bytes) {
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const VkBufferCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
      .size = bytes,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
  vk_check(vkCreateBuffer(device.handle(), &info, nullptr, &buffer_), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device.handle(), buffer_, &needs);
  const VkMemoryPropertyFlags device_wishes[] = {local, 0};
  const VkMemoryPropertyFlags upload_wishes[] = {local | host, host};
  const VkMemoryPropertyFlags readback_wishes[] = {host | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, host};
  const VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo allocation{
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = &flags,
      .allocationSize = needs.size,
      .memoryTypeIndex = choose_type(device.physical(), needs.memoryTypeBits,
                                     memory == Memory::device   ? device_wishes
                                     : memory == Memory::upload ? upload_wishes
                                                                : readback_wishes)};
  const VkResult result = vkAllocateMemory(device.handle(), &allocation, nullptr, &memory_);
  if (result != VK_SUCCESS) {
    vkDestroyBuffer(device.handle(), buffer_, nullptr);
    fail("{} can't give {} MiB of memory ({}); use a smaller model, batch or context", device.facts().name,
         (bytes >> 20) + 1, static_cast<int>(result));
  }
  vk_check(vkBindBufferMemory(device.handle(), buffer_, memory_, 0), "vkBindBufferMemory");
  if (memory != Memory::device) {
    void* pointer = nullptr;
    vk_check(vkMapMemory(device.handle(), memory_, 0, VK_WHOLE_SIZE, 0, &pointer), "vkMapMemory");
    mapped_ = static_cast<std::byte*>(pointer);
  }
  const VkBufferDeviceAddressInfo address{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer_};
  address_ = vkGetBufferDeviceAddress(device.handle(), &address);
}

Buffer::~Buffer() {
  vkDestroyBuffer(device_.handle(), buffer_, nullptr);
  vkFreeMemory(device_.handle(), memory_, nullptr);
}

}  // namespace vkformer
