#pragma once
// One Vulkan device: instance, queue, facts. With buffer.h and pipeline.h the only code that includes vulkan.h (and the
// recorded program, which replays command buffers).

#include <vulkan/vulkan.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/device_facts.h"

namespace vkformer {

/// Throws Error naming the call and the result unless `result` is VK_SUCCESS.
void vk_check(VkResult result, const char* call);

/// A Vulkan instance (1.3) and its physical devices.
class Instance {
 public:
  /// Throws Error when there is no loader, no driver or no device. Where lavapipe is faster with vectors of 512 bits
  /// (runtime/quirks.h), sets LP_NATIVE_VECTOR_WIDTH in the environment, unless it is set.
  Instance();
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  struct Entry {
    VkPhysicalDevice handle;
    DeviceFacts facts;
    std::string unusable;  ///< why the runtime can't use it; empty when it can
  };
  const std::vector<Entry>& devices() const { return devices_; }

 private:
  void open();
  VkInstance instance_ = nullptr;
  std::vector<Entry> devices_;
};

/// A logical device with one compute queue.
class Device {
 public:
  /// `choice`: empty for the best device (discrete, integrated, other, CPU), an index into the list of devices, or part
  /// of a device's name, ignoring case. Throws Error that lists the devices when nothing matches. With `as_gpu` the
  /// facts call a software device a discrete GPU, so that kernels are chosen and launched as on one.
  explicit Device(const std::string& choice = {}, bool as_gpu = false);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceFacts& facts() const { return facts_; }
  /// See DeviceFacts::matrix_check.
  void set_matrix_check(std::function<bool()> check) { facts_.matrix_check = std::move(check); }
  int index() const { return index_; }
  VkDevice handle() const { return device_; }
  VkPhysicalDevice physical() const { return physical_; }
  VkQueue queue() const { return queue_; }
  uint32_t queue_family() const { return queue_family_; }
  /// "device 0: llvmpipe (LLVM 15.0.6, 256 bits) (CPU; software Vulkan)"
  std::string describe() const;
  /// Free bytes of the device's memory now (VK_EXT_memory_budget; without it, the heap's size).
  uint64_t memory_free() const;
  /// Submits the command buffer and waits until it is done.
  void submit_and_wait(VkCommandBuffer commands);
  /// Submits without waiting; `fence` may be null.
  void submit(VkCommandBuffer commands, VkFence fence);

 private:
  std::shared_ptr<Instance> instance_;
  VkPhysicalDevice physical_ = nullptr;
  VkDevice device_ = nullptr;
  VkQueue queue_ = nullptr;
  VkFence fence_ = nullptr;
  uint32_t queue_family_ = 0;
  int index_ = 0;
  DeviceFacts facts_;
  bool memory_budget_ = false;
};

}  // namespace vkformer
