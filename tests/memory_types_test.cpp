// Which memory a buffer may lie in, of drivers that are not there.

#include "runtime/vulkan/memory_types.h"

#include <array>
#include <catch2/catch_test_macros.hpp>

using namespace vkformer;

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
}
