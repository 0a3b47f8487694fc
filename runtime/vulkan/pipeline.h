#pragma once
// Compute pipelines by (kernel, variant, specialization constants), made once, several at a time, with a
// VkPipelineCache kept between runs.

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>

#include "runtime/check.h"
#include "runtime/pipeline_log.h"
#include "runtime/vulkan/device.h"

namespace vkformer {

/// The driver has no code for a kernel, whatever memory there is.
class PipelineRefused : public Error {
 public:
  using Error::Error;
};

/// A pipeline that may still be being made.
class Pipeline {
 public:
  Pipeline(std::future<VkPipeline> made, bool matrix_cores) : made_(made.share()), matrix_cores_(matrix_cores) {}
  /// Waits for it. Throws Error when the driver could not make it, PipelineRefused when it never will.
  VkPipeline handle() const { return made_.get(); }
  void wait() const { made_.wait(); }
  bool matrix_cores() const { return matrix_cores_; }  ///< its kernel multiplies on them

 private:
  std::shared_future<VkPipeline> made_;
  bool matrix_cores_;
};

class PipelineCache {
 public:
  /// Loads the saved cache of this device, its driver and these kernels from the user's cache directory, if there is
  /// one; with statistics nothing is loaded or saved.
  explicit PipelineCache(Device& device);
  /// Saves it (atomically; a failure to save is not an error) when pipelines were added.
  ~PipelineCache();
  PipelineCache(const PipelineCache&) = delete;
  PipelineCache& operator=(const PipelineCache&) = delete;

  /// Begins to make the pipeline unless it is known. Throws Error when the kernel or variant is unknown or was not
  /// built, or the device can't give full subgroups.
  const Pipeline& get(std::string_view kernel, std::string_view variant, std::span<const uint32_t> constants,
                      uint32_t subgroup_size);
  /// The same of a module that is none of this build's. Throws Error when its workgroups are beyond the device's
  /// limits: drivers do not tell.
  const Pipeline& make(PipelineRecord record, std::vector<uint32_t> words);
  /// Waits until the driver is done with all of them, made or not.
  void wait() const;
  /// The layout every pipeline shares: 128 bytes of push constants, no descriptor sets.
  VkPipelineLayout layout() const { return layout_.get(); }
  size_t size() const { return pipelines_.size(); }

 private:
  VkPipeline compile(PipelineRecord record, std::span<const uint32_t> words);
  void enqueue(std::packaged_task<VkPipeline()> task);
  void add_worker();
  void work();
  void save() const noexcept;

  Device& device_;
  OwnedPipelineLayout layout_;
  OwnedPipelineCache cache_;
  std::filesystem::path file_;
  std::map<std::string, Pipeline> pipelines_;
  std::vector<OwnedPipeline> made_;
  // Drivers take milliseconds for each, and a training step needs dozens: all cores make them.
  std::vector<std::thread> workers_;
  std::deque<std::packaged_task<VkPipeline()>> queue_;
  std::mutex mutex_;  ///< of what follows and of queue_ and made_
  std::condition_variable changed_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace vkformer
