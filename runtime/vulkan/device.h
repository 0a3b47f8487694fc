#pragma once
// One Vulkan device: its queue and its facts.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/vulkan/debug_names.h"
#include "runtime/vulkan/instance.h"

namespace vkformer {

struct DeviceOptions {
  bool as_gpu = false;      ///< the facts call a software device a discrete GPU: kernels are chosen as on one
  bool statistics = false;  ///< pipelines can tell what the driver made of them, where it says so
  bool clocks = false;      ///< see Device::clocks()
  std::optional<DeviceFacts> limits = {};  ///< see DeviceFacts::within()
  MemoryLimits memory = {};
  std::function<void(const std::string&)> note = {};  ///< see BackendOptions::note
};

/// One moment on two clocks.
struct ClockPair {
  uint64_t ticks = 0;  ///< of the device's timestamps
  double host = 0;     ///< seconds of the host's steady clock
};

/// A logical device with one compute queue.
class Device {
 public:
  /// `choice` as in Instance::choose(), which throws Error. An empty one is told what it did not take.
  explicit Device(const std::string& choice = {}, const DeviceOptions& options = {});
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceFacts& facts() const { return facts_; }
  /// See DeviceFacts::matrix_check.
  void set_matrix_check(std::function<bool(DType, std::string_view)> check) { facts_.matrix_check = std::move(check); }
  int index() const { return index_; }
  bool has_statistics() const { return statistics_; }
  /// Now; nothing without VK_EXT_calibrated_timestamps, or where it does not know the host's steady clock.
  std::optional<ClockPair> clocks() const;
  const DebugNames& names() const { return names_; }
  VkDevice handle() const { return device_.get(); }
  VkPhysicalDevice physical() const { return physical_; }
  uint32_t queue_family() const { return queue_family_; }
  /// "device 0: llvmpipe (LLVM 15.0.6, 256 bits) (CPU; software Vulkan)"
  std::string describe() const;
  /// The same as the subject of a complaint: "device 0 (llvmpipe (LLVM 15.0.6, 256 bits))"
  std::string label() const;
  /// Free bytes of the device's memory now (VK_EXT_memory_budget; without it, the heap's size).
  uint64_t memory_free() const;
  /// What Backend::roomier_device() says, as things are now.
  std::string roomier_device(uint64_t bytes) const;
  /// Submits the command buffers one by one and gives the fence that wait() takes. Throws Error; nothing runs any more
  /// then, so what they use may be given back.
  [[nodiscard]] OwnedFence submit(std::span<const VkCommandBuffer> commands);
  /// Waits until the last of them is done. Throws Error like submit().
  void wait(OwnedFence fence);
  void run(std::span<const VkCommandBuffer> commands) { wait(submit(commands)); }

 private:
  std::shared_ptr<Instance> instance_;
  VkPhysicalDevice physical_ = nullptr;
  OwnedDevice device_;
  VkQueue queue_ = nullptr;
  std::vector<OwnedFence> fences_;  ///< of nothing that runs
  uint32_t queue_family_ = 0;
  int index_ = 0;
  bool statistics_ = false;
  PFN_vkGetCalibratedTimestampsEXT get_clocks_ = nullptr;
  DebugNames names_;
  DeviceFacts facts_;
};

}  // namespace vkformer
