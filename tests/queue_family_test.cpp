// Which queue family computes, of drivers that are not there.

#include "runtime/vulkan/queue_family.h"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace vkformer;

TEST_CASE("who computes leaves the desktop's queue alone where there is another") {
  constexpr VkQueueFlags graphics = VK_QUEUE_GRAPHICS_BIT, compute = VK_QUEUE_COMPUTE_BIT,
                         transfer = VK_QUEUE_TRANSFER_BIT, sparse = VK_QUEUE_SPARSE_BINDING_BIT;
  const auto family = [](VkQueueFlags flags, uint32_t count, uint32_t bits) {
    return VkQueueFamilyProperties{.queueFlags = flags, .queueCount = count, .timestampValidBits = bits};
  };
  const auto chosen = [](const std::vector<VkQueueFamilyProperties>& families, uint32_t vendor = 0x10de) {
    return compute_family(families, vendor);
  };
  const auto all = graphics | compute | transfer;
  // RADV, whose queue of graphics is faster.
  CHECK(chosen({family(all, 1, 64), family(compute | transfer, 4, 64), family(sparse, 1, 64)}, 0x1002) == 0);
  CHECK(chosen({family(graphics, 1, 64), family(compute | transfer, 4, 64)}, 0x1002) == 1);
  // NVIDIA's own driver.
  CHECK(chosen({family(all | sparse, 16, 64), family(transfer | sparse, 2, 64),
                family(compute | transfer | sparse, 8, 64), family(VK_QUEUE_VIDEO_DECODE_BIT_KHR, 1, 32)}) == 2);
  // ANV on Arc, and on chips whose only engine does all.
  CHECK(chosen({family(all, 1, 36), family(compute | transfer, 1, 36), family(transfer, 1, 36)}) == 1);
  CHECK(chosen({family(all, 1, 36)}) == 0);
  // llvmpipe.
  CHECK(chosen({family(all, 1, 64)}) == 0);
  // Without timestamps, or with short ones, there is nothing to tune by.
  CHECK(chosen({family(all, 1, 64), family(compute, 1, 0)}) == 0);
  CHECK(chosen({family(all, 1, 64), family(compute, 1, 36), family(compute, 1, 64)}) == 2);
  CHECK(chosen({family(graphics, 1, 64), family(compute, 1, 0)}) == 1);
  CHECK(chosen({family(graphics, 1, 64), family(transfer, 1, 64)}) == std::nullopt);
  CHECK(chosen({}) == std::nullopt);
}
