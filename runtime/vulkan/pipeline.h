#pragma once
// Compute pipelines by (kernel, variant, specialization constants), made once, with a VkPipelineCache kept between
// runs.

#include <filesystem>
#include <map>
#include <span>
#include <string_view>

#include "runtime/vulkan/device.h"

namespace vkformer {

/// Whether this build embeds the kernel's variant (the installed glslang could compile it).
bool shader_built(std::string_view kernel, std::string_view variant);

class PipelineCache {
 public:
  /// Loads the saved cache of this device and driver from the user's cache directory, if there is one.
  explicit PipelineCache(Device& device);
  /// Saves it (atomically; a failure to save is not an error) when pipelines were added.
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  /// Throws Error when the kernel or variant is unknown or was not built, or the device can't give full subgroups.
  VkPipeline get(std::string_view kernel, std::string_view variant, std::span<const uint32_t> constants,
                 uint32_t subgroup_size);
  /// The layout every pipeline shares: 128 bytes of push constants, no descriptor sets.
  VkPipelineLayout layout() const { return layout_; }
  size_t size() const { return pipelines_.size(); }

 private:
  Device& device_;
  VkPipelineLayout layout_ = nullptr;
  VkPipelineCache cache_ = nullptr;
  std::filesystem::path file_;
  std::map<std::string, VkPipeline> pipelines_;
};

}  // namespace vkformer
