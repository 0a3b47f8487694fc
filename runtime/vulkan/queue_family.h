#pragma once
// Which of a device's queues the runtime submits to.

#include <vulkan/vulkan.h>

#include <optional>
#include <span>

namespace vkformer {

/// The number of a family that computes: one without graphics before the first of all, as frames of the desktop wait
/// behind what is submitted to theirs, unless its timestamps have fewer bits. Of AMD's GPUs the first: decoding a model
/// of 8 G parameters there takes 5 % less time in the queue of graphics (measured on a RX 9070 XT with RADV,
/// github.com/ggml-org/llama.cpp/pull/20551). Nothing where none computes.
std::optional<uint32_t> compute_family(std::span<const VkQueueFamilyProperties> families, uint32_t vendor_id);

}  // namespace vkformer
