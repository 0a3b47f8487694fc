#include "runtime/vulkan/pipeline.h"

#include <unistd.h>

#include <fstream>

#include "runtime/check.h"
#include "runtime/files/user_cache.h"
#include "runtime/vulkan/embedded_shaders.h"

namespace vkformer {

namespace {

const EmbeddedShader* find_shader(std::string_view kernel, std::string_view variant) {
  for (const EmbeddedShader& shader : embedded_shaders())
    if (shader.kernel == kernel && shader.variant == variant) return &shader;
  return nullptr;
}

}  // namespace

bool shader_built(std::string_view kernel, std::string_view variant) {
  const EmbeddedShader* shader = find_shader(kernel, variant);
  return shader != nullptr && !shader->words.empty();
}

PipelineCache::PipelineCache(Device& device) : device_(device) {
  const VkPushConstantRange range{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = 128};
  const VkPipelineLayoutCreateInfo layout{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .pushConstantRangeCount = 1,
                                          .pPushConstantRanges = &range};
  vk_check(vkCreatePipelineLayout(device.handle(), &layout, nullptr, &layout_), "vkCreatePipelineLayout");
  std::string saved;
  if (const auto directory = user_cache(); !directory.empty()) {
    const DeviceFacts& facts = device.facts();
    file_ = directory / fmt::format("pipelines-{:x}-{:x}-{:x}-{:x}.bin", facts.vendor_id, facts.device_id,
                                    facts.driver_id, facts.driver_version);
    std::ifstream stream(file_, std::ios::binary);
    saved.assign(std::istreambuf_iterator<char>(stream), {});
  }
  // The driver checks the data's header itself and starts empty when it is another device's or damaged.
  const VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                       .initialDataSize = saved.size(),
                                       .pInitialData = saved.data()};
  vk_check(vkCreatePipelineCache(device.handle(), &info, nullptr, &cache_), "vkCreatePipelineCache");
}

PipelineCache::~PipelineCache() {
  size_t size = 0;
  if (!file_.empty() && !pipelines_.empty() &&
      vkGetPipelineCacheData(device_.handle(), cache_, &size, nullptr) == VK_SUCCESS) {
    std::string data(size, '\0');
    vkGetPipelineCacheData(device_.handle(), cache_, &size, data.data());
    std::error_code ignored;
    std::filesystem::create_directories(file_.parent_path(), ignored);
    const std::filesystem::path temporary = fmt::format("{}.{}", file_.string(), getpid());
    std::ofstream stream(temporary, std::ios::binary);
    stream.write(data.data(), static_cast<std::streamsize>(size));
    stream.close();
    if (stream)
      std::filesystem::rename(temporary, file_, ignored);
    else
      std::filesystem::remove(temporary, ignored);
  }
  for (const auto& [key, pipeline] : pipelines_) vkDestroyPipeline(device_.handle(), pipeline, nullptr);
  vkDestroyPipelineCache(device_.handle(), cache_, nullptr);
  vkDestroyPipelineLayout(device_.handle(), layout_, nullptr);
}

VkPipeline PipelineCache::get(std::string_view kernel, std::string_view variant, std::span<const uint32_t> constants,
                              uint32_t subgroup_size) {
  std::string key = fmt::format("{}/{}/{}", kernel, variant, subgroup_size);
  for (uint32_t constant : constants) key += fmt::format(",{}", constant);
  if (auto known = pipelines_.find(key); known != pipelines_.end()) return known->second;

  const EmbeddedShader* shader = find_shader(kernel, variant);
  check(shader != nullptr, "there is no kernel {} ({})", kernel, variant);
  check(!shader->words.empty(), "kernel {} ({}) is not part of this build: its glslang could not compile it", kernel,
        variant);
  check(subgroup_size == 0 || device_.facts().full_subgroups, "kernel {} needs full subgroups, which {} can't promise",
        kernel, device_.facts().name);
  const VkShaderModuleCreateInfo code{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = shader->words.size_bytes(),
                                      .pCode = shader->words.data()};
  VkShaderModule module = nullptr;
  vk_check(vkCreateShaderModule(device_.handle(), &code, nullptr, &module), "vkCreateShaderModule");
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < constants.size(); ++i) entries.push_back({i, i * 4, 4});
  const VkSpecializationInfo specialization{.mapEntryCount = static_cast<uint32_t>(entries.size()),
                                            .pMapEntries = entries.data(),
                                            .dataSize = constants.size_bytes(),
                                            .pData = constants.data()};
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = subgroup_size};
  // Dispatches that would run too long for the driver's watchdog are split by vkCmdDispatchBase.
  const VkComputePipelineCreateInfo info{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .flags = VK_PIPELINE_CREATE_DISPATCH_BASE_BIT,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = subgroup_size ? &required : nullptr,
                .flags =
                    subgroup_size
                        ? VkPipelineShaderStageCreateFlags{VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT}
                        : 0,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = "main",
                .pSpecializationInfo = &specialization},
      .layout = layout_};
  VkPipeline pipeline = nullptr;
  const VkResult result = vkCreateComputePipelines(device_.handle(), cache_, 1, &info, nullptr, &pipeline);
  vkDestroyShaderModule(device_.handle(), module, nullptr);
  vk_check(result, fmt::format("vkCreateComputePipelines of {}", key).c_str());
  pipelines_.emplace(std::move(key), pipeline);
  return pipeline;
}

}  // namespace vkformer
