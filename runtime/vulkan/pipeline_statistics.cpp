#include "runtime/vulkan/pipeline_statistics.h"

#include "runtime/vulkan/owned.h"

namespace vkformer {

namespace {

double value_of(const VkPipelineExecutableStatisticKHR& statistic) {
  switch (statistic.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: return statistic.value.b32;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return static_cast<double>(statistic.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return static_cast<double>(statistic.value.u64);
    default: return statistic.value.f64;
  }
}

}  // namespace

std::vector<PipelineCode> code_of(VkDevice device, VkPipeline pipeline) {
  const auto get_executables = device_function<PFN_vkGetPipelineExecutablePropertiesKHR>(  //
      device, "vkGetPipelineExecutablePropertiesKHR");
  const auto get_statistics = device_function<PFN_vkGetPipelineExecutableStatisticsKHR>(  //
      device, "vkGetPipelineExecutableStatisticsKHR");
  const VkPipelineInfoKHR whole{.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
  uint32_t count = 0;
  vk_check(get_executables(device, &whole, &count, nullptr), "vkGetPipelineExecutablePropertiesKHR");
  std::vector<VkPipelineExecutablePropertiesKHR> executables(
      count, {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR});
  vk_check(get_executables(device, &whole, &count, executables.data()), "vkGetPipelineExecutablePropertiesKHR");

  std::vector<PipelineCode> all;
  for (uint32_t i = 0; i < count; ++i) {
    const VkPipelineExecutableInfoKHR one{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline, .executableIndex = i};
    uint32_t values = 0;
    vk_check(get_statistics(device, &one, &values, nullptr), "vkGetPipelineExecutableStatisticsKHR");
    std::vector<VkPipelineExecutableStatisticKHR> statistics(
        values, {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
    vk_check(get_statistics(device, &one, &values, statistics.data()), "vkGetPipelineExecutableStatisticsKHR");
    PipelineCode& code = all.emplace_back(PipelineCode{.subgroup_size = executables[i].subgroupSize, .statistics = {}});
    for (const VkPipelineExecutableStatisticKHR& statistic : statistics)
      code.statistics[statistic.name] = value_of(statistic);
  }
  return all;
}

}  // namespace vkformer
