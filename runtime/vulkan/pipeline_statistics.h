#pragma once
// What a driver says of a pipeline that it made (VK_KHR_pipeline_executable_properties).

#include "runtime/pipeline_log.h"
#include "runtime/vulkan/vk_check.h"

namespace vkformer {

/// Of a pipeline made with VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR on a device with statistics.
std::vector<PipelineCode> code_of(VkDevice device, VkPipeline pipeline);

}  // namespace vkformer
