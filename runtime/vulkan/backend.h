#pragma once
// The Vulkan side of runtime/backend.h: device, pipelines and transfers shared by stores and programs.

#include <mutex>

#include "runtime/backend.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/pipeline.h"

namespace vkformer {

/// What one Vulkan backend, its stores and its programs share.
struct VulkanContext {
  VulkanContext(const std::string& device_choice, const BackendOptions& backend_options);
  ~VulkanContext();

  Device device;
  PipelineCache pipelines;
  BackendOptions options;
  VkCommandPool command_pool = nullptr;
  uint64_t allocated_bytes = 0;
  uint64_t allocations = 0;
  /// Seconds that a unit of estimated cost took in programs so far; starts as a guess for the kind of device.
  double seconds_per_estimate = 1;

  /// Allocates and keeps count.
  std::unique_ptr<Buffer> allocate(uint64_t bytes, Buffer::Memory memory);
  /// Copies between a device buffer and the host through a staging buffer.
  void upload(const Buffer& target, uint64_t offset, std::span<const std::byte> data);
  void download(const Buffer& source, uint64_t offset, std::span<std::byte> data);
  void fill(const Buffer& target, uint32_t pattern);

 private:
  void transfer(const std::function<void(VkCommandBuffer)>& record);
  std::unique_ptr<Buffer> staging_;
  VkCommandBuffer transfer_commands_ = nullptr;
};

class VulkanStore : public Store {
 public:
  VulkanStore(std::shared_ptr<VulkanContext> context, const StoreLayout& layout);
  ~VulkanStore() override;
  using Store::read;
  void read(const std::string& name, std::span<float> data) const override;
  const Buffer& block(int index) const { return *blocks_[static_cast<size_t>(index)]; }

 protected:
  void write_elements(const StoreLayout::Entry& entry, int64_t first, std::span<const std::byte> data) override;

 private:
  std::shared_ptr<VulkanContext> context_;
  std::vector<std::unique_ptr<Buffer>> blocks_;
};

std::unique_ptr<Program> make_vulkan_program(std::shared_ptr<VulkanContext> context, Graph graph,
                                             std::shared_ptr<VulkanStore> store, const PlanOptions& options);

}  // namespace vkformer
