#pragma once
// Which of a device's queues the runtime submits to.

#include <vulkan/vulkan.h>

#include <optional>
#include <span>

namespace vkformer {

/// The number of a family that computes: one without graphics before the first of all, as frames of the desktop wait
/// behind what is submitted to theirs, unless its timestamps have fewer bits. Nothing where none computes.
std::optional<uint32_t> compute_family(std::span<const VkQueueFamilyProperties> families);

}  // namespace vkformer
