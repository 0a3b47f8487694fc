#pragma once
// The Vulkan side of runtime/backend.h: device, pipelines and transfers shared by stores and programs.

#include <map>
#include <optional>

#include "runtime/backend.h"
#include "runtime/one_thread.h"
#include "runtime/recorder.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/pipeline.h"

namespace vkformer {

/// What one Vulkan backend, its stores and its programs share.
struct VulkanContext {
  VulkanContext(const std::string& device_choice, const BackendOptions& backend_options);

  Device device;
  PipelineCache pipelines;
  BackendOptions options;
  OwnedCommandPool command_pool;
  uint64_t allocated_bytes = 0;  ///< of the device's memory
  uint64_t host_bytes = 0;       ///< of stores, in the host's
  uint64_t allocations = 0;
  /// Seconds that a unit of estimated cost took in the longest run so far; starts as a guess for the kind of device.
  double seconds_per_estimate = 1;
  double longest_run = 0;  ///< seconds; of runs whose speed was learned
  /// Whether a kernel's matrix cores compute what they should, once that was tried.
  std::map<std::pair<DType, std::string>, bool> matrix_cores_right;
  bool trying_matrix_cores = false;
  RefusedKernels refused;  ///< that the driver could not compile so far

  /// Programs that were started and not finished, the first one first.
  std::vector<Program*> started;
  double last_end = 0;  ///< of a run, on the host's steady clock

  /// To be held in every call. Throws Error while another thread is inside one. Nothing runs when it returns, so memory
  /// may be moved, written and read; throws what a program's finish() throws.
  [[nodiscard]] OneThread::Stay enter() {
    OneThread::Stay stay = enter_beside();
    finish_all();
    return stay;
  }
  /// The same in the calls during which programs may run.
  [[nodiscard]] OneThread::Stay enter_beside() { return threads_.enter(device.facts().name); }
  void finish_all() {
    while (!started.empty()) started.front()->finish();
  }
  void note(const std::string& line) const {
    if (options.note) options.note(line);
  }
  /// Allocates and keeps count.
  std::unique_ptr<Buffer> allocate(uint64_t bytes, Buffer::Memory memory, const std::string& name);
  /// Bytes that are free now, of the memory that the device has or that given limits leave of it.
  uint64_t memory_free() const;
  /// The same of host memory that kernels reach over the bus.
  uint64_t host_memory_free() const;
  /// The end of a line that says that there is no room: "; device 1: Card has 9000 MiB free (--device 1)", or nothing.
  std::string or_elsewhere(uint64_t bytes) const;
  /// For recorders; the context must outlive it.
  PipelineSource pipeline_source();
  /// Copies between a device buffer and the host through a staging buffer.
  void upload(const Buffer& target, uint64_t offset, std::span<const std::byte> data);
  void download(const Buffer& source, uint64_t offset, std::span<std::byte> data);
  void fill(const Buffer& target, uint32_t pattern);

 private:
  void transfer(const std::function<void(VkCommandBuffer)>& record);
  OneThread threads_;
  std::unique_ptr<Buffer> staging_;
  VkCommandBuffer transfer_commands_ = nullptr;
};

class VulkanStore : public Store {
 public:
  /// `shared`: whose blocks the first ones are; nullptr: nobody's.
  VulkanStore(std::shared_ptr<VulkanContext> context, const StoreLayout& layout,
              std::shared_ptr<const VulkanStore> shared = nullptr);
  ~VulkanStore() override;
  const Buffer& block(int index) const {
    const auto i = static_cast<size_t>(index);
    return i < shared_blocks() ? shared_->block(index) : *blocks_[i - shared_blocks()];
  }

 protected:
  void write_elements(const StoreLayout::Entry& entry, int64_t first, std::span<const std::byte> data) override;
  void read_elements(const StoreLayout::Entry& entry, std::span<std::byte> data) const override;

 private:
  size_t shared_blocks() const { return shared_ ? shared_->layout().blocks().size() : 0; }

  std::shared_ptr<VulkanContext> context_;
  std::shared_ptr<const VulkanStore> shared_;
  std::vector<std::unique_ptr<Buffer>> blocks_;  ///< its own
  uint64_t device_bytes_ = 0, host_bytes_ = 0;   ///< of these
};

class VulkanWorkspace : public Workspace {
 public:
  explicit VulkanWorkspace(std::shared_ptr<VulkanContext> context) : context_(std::move(context)) {}
  ~VulkanWorkspace() override;
  /// Makes it hold a plan's blocks. Nothing may be running. Throws Error when the device has not that much memory.
  void reserve(std::span<const int64_t> blocks);
  /// Bytes that reserve() would allocate beside what it frees.
  int64_t growth(std::span<const int64_t> blocks) const;
  const std::vector<std::unique_ptr<Buffer>>& blocks() const { return blocks_; }
  /// Another number after each reserve() that moved a block.
  uint64_t version() const { return version_; }

 private:
  std::shared_ptr<VulkanContext> context_;
  std::vector<std::unique_ptr<Buffer>> blocks_;
  std::vector<int64_t> sizes_;  ///< as they were asked for; 0 where there is no block now
  uint64_t version_ = 0;
};

/// `workspace`: nullptr for one of its own.
std::unique_ptr<Program> make_vulkan_program(std::shared_ptr<VulkanContext> context, Graph graph,
                                             std::shared_ptr<VulkanStore> store, const PlanOptions& options,
                                             std::shared_ptr<VulkanWorkspace> workspace);

}  // namespace vkformer
