// Which memory a buffer may lie in, of drivers that are not there.

#include "runtime/vulkan/memory_types.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>

#include "runtime/check.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/memory_room.h"

using namespace vkformer;

namespace {

/// What the calls below do to the driver's memory.
struct {
  uint32_t doubled = 0;    ///< so many types, which are all that there are, are there twice
  int maps_that_fail = 0;  ///< of the next ones
  bool full = false;       ///< the first half is the device's own and has nothing free, the second the host's
} disguise;

template <class Function>
Function behind_disguise(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// They stand before the loader's: the library's calls come here, and go on.
extern "C" {

VKAPI_ATTR void VKAPI_CALL vkGetPhysicalDeviceMemoryProperties(VkPhysicalDevice physical,
                                                               VkPhysicalDeviceMemoryProperties* memory) {
  behind_disguise<decltype(&vkGetPhysicalDeviceMemoryProperties)>("vkGetPhysicalDeviceMemoryProperties")(physical,
                                                                                                         memory);
  std::copy_n(memory->memoryTypes, disguise.doubled, memory->memoryTypes + disguise.doubled);
  memory->memoryTypeCount += disguise.doubled;
  for (uint32_t i = disguise.doubled; disguise.full && i < memory->memoryTypeCount; ++i)
    memory->memoryTypes[i].propertyFlags &= ~VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
}

VKAPI_ATTR void VKAPI_CALL vkGetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                         VkMemoryRequirements* needs) {
  behind_disguise<decltype(&vkGetBufferMemoryRequirements)>("vkGetBufferMemoryRequirements")(device, buffer, needs);
  needs->memoryTypeBits |= needs->memoryTypeBits << disguise.doubled;
}

VKAPI_ATTR VkResult VKAPI_CALL vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                                const VkAllocationCallbacks* own, VkDeviceMemory* memory) {
  VkMemoryAllocateInfo allocation = *info;
  if (disguise.full && allocation.memoryTypeIndex < disguise.doubled) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  if (disguise.doubled > 0) allocation.memoryTypeIndex %= disguise.doubled;
  return behind_disguise<decltype(&vkAllocateMemory)>("vkAllocateMemory")(device, &allocation, own, memory);
}

VKAPI_ATTR VkResult VKAPI_CALL vkMapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                           VkDeviceSize size, VkMemoryMapFlags flags, void** data) {
  if (disguise.maps_that_fail > 0) return --disguise.maps_that_fail, VK_ERROR_MEMORY_MAP_FAILED;
  return behind_disguise<decltype(&vkMapMemory)>("vkMapMemory")(device, memory, offset, size, flags, data);
}

}  // extern "C"

TEST_CASE("memory that can't be mapped is no end while there is another type", "[memory][device][one_driver]") {
  Device device;
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(device.physical(), &memory);
  if (2 * memory.memoryTypeCount > VK_MAX_MEMORY_TYPES) SKIP("the device has too many types to double them");
  disguise = {.doubled = memory.memoryTypeCount, .maps_that_fail = 1};
  const Buffer buffer(device, 64, Buffer::Memory::upload, "test");
  CHECK(disguise.maps_that_fail == 0);
  REQUIRE(buffer.mapped().size() == 64);
  disguise.maps_that_fail = 1000;
  CHECK_THROWS_AS(Buffer(device, 64, Buffer::Memory::upload, "test"), Error);
  disguise = {};
}

TEST_CASE("weights that a device has no memory for lie in the host's", "[memory][device][one_driver]") {
  Device device;
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(device.physical(), &memory);
  if (2 * memory.memoryTypeCount > VK_MAX_MEMORY_TYPES) SKIP("the device has too many types to double them");
  CHECK_FALSE(Buffer(device, 64, Buffer::Memory::weights, "test").moved());
  CHECK_FALSE(Buffer(device, 64, Buffer::Memory::host, "test").moved());
  disguise = {.doubled = memory.memoryTypeCount, .full = true};
  CHECK(Buffer(device, 64, Buffer::Memory::weights, "test").moved());
  CHECK_FALSE(Buffer(device, 64, Buffer::Memory::host, "test").moved());
  CHECK_THROWS_AS(Buffer(device, 64, Buffer::Memory::device, "test"), Error);
  disguise = {};
}

TEST_CASE("memory that a feature would have to be enabled for is never taken", "[memory]") {
  // RADV's types, of which the second half is AMD's device-coherent memory.
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                  host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                  cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                                  coherent = VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD |
                                             VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;
  VkPhysicalDeviceMemoryProperties memory{};
  for (const VkMemoryPropertyFlags extra : {VkMemoryPropertyFlags{0}, coherent})
    for (const VkMemoryPropertyFlags flags : {local, host, local | host, host | cached})
      memory.memoryTypes[memory.memoryTypeCount++].propertyFlags = flags | extra;
  const auto types = [&](uint32_t allowed, std::initializer_list<VkMemoryPropertyFlags> wishes) {
    return fitting_types(memory, allowed, std::span(wishes));
  };
  CHECK(types(0xff, {local}) == std::vector<uint32_t>{0, 2});
  CHECK(types(0xff, {local | host, host}) == std::vector<uint32_t>{2, 1, 3});
  CHECK(types(0xff, {host | cached, host}) == std::vector<uint32_t>{3, 1, 2});
  CHECK(types(0b1011, {local | host, host}) == std::vector<uint32_t>{1, 3});
  CHECK(types(0xf0, {local}).empty());
  CHECK(host_types(memory, 0xff) == std::vector<uint32_t>{1, 3, 2});
  CHECK(host_types(memory, 0b1101) == std::vector<uint32_t>{3, 2});
}

TEST_CASE("of an integrated GPU all heaps count, of others the largest of their own", "[memory]") {
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                  host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkPhysicalDeviceMemoryProperties memory{};
  const auto add_heap = [&](uint64_t size, VkMemoryHeapFlags heap, VkMemoryPropertyFlags flags) {
    memory.memoryTypes[memory.memoryTypeCount++] = {flags, memory.memoryHeapCount};
    memory.memoryHeaps[memory.memoryHeapCount++] = {size, heap};
  };
  add_heap(4000, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT, local);
  add_heap(9000, 0, host);
  add_heap(256, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT, local | host);
  add_heap(77, 0, VK_MEMORY_PROPERTY_PROTECTED_BIT);
  const uint64_t free[] = {3000, 8000, 200, 77};
  const MemoryRoom card = memory_room(memory, free, DeviceKind::discrete);
  CHECK(card.total == 4000);
  CHECK(card.free == 3000);
  CHECK(card.host_free == 8000);
  const MemoryRoom chip = memory_room(memory, free, DeviceKind::integrated);
  CHECK(chip.total == 13256);
  CHECK(chip.free == 11200);
  CHECK(chip.host_free == 0);
  CHECK(memory_room(memory, free, DeviceKind::cpu).host_free == 0);
}
