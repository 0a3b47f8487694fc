#include "runtime/vulkan/backend.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/matrix_check.h"
#include "runtime/passes/copied_weights.h"
#include "runtime/recording.h"
#include "runtime/split/split_backend.h"
#include "runtime/tuning.h"
#include "runtime/vulkan/embedded_shaders.h"
#include "runtime/vulkan/half_modes.h"
#include "runtime/vulkan/memory_room.h"

namespace vkformer {

namespace {

constexpr uint64_t staging_bytes = uint64_t{4} << 20;

/// Higher than those of all other areas.
constexpr uint64_t imagined_readback = uint64_t{1} << 60;

uint64_t imagined_address(Place::Area area, int block) {
  if (area == Place::Area::readback) return imagined_readback;
  return ((static_cast<uint64_t>(area) << 8) + static_cast<uint64_t>(block)) << 40;
}

/// Addresses as a program of this plan might have them: kernels are chosen by alignment, too.
Placement imagined(const MemoryPlan& plan) {
  const auto region = [](const Place& place) -> Region {
    if (place.area == Place::Area::none) return {};
    return {imagined_address(place.area, place.block) + static_cast<uint64_t>(place.offset),
            static_cast<uint64_t>(place.bytes)};
  };
  Placement placement;
  for (const Place& place : plan.values) placement.values.push_back(region(place));
  for (const Place& place : plan.scratch) placement.scratch.push_back(region(place));
  return placement;
}

class VulkanBackend : public Backend {
 public:
  explicit VulkanBackend(std::shared_ptr<VulkanContext> context) : context_(std::move(context)) {}
  const DeviceFacts& facts() const override { return context_->device.facts(); }
  std::string describe() const override { return context_->device.describe(); }
  bool profiles() const override { return context_->options.profile; }
  uint64_t allocated_bytes() const override { return context_->allocated_bytes; }
  std::string roomier_device(uint64_t bytes) const override { return context_->device.roomier_device(bytes); }
  std::shared_ptr<Store> make_store(const StoreLayout& layout) override {
    const auto stay = context_->enter();
    return std::make_shared<VulkanStore>(context_, layout);
  }
  std::shared_ptr<Store> extend_store(std::shared_ptr<Store> store, const StoreLayout& layout) override {
    const auto stay = context_->enter();
    return std::make_shared<VulkanStore>(context_, layout, std::static_pointer_cast<const VulkanStore>(store));
  }
  std::shared_ptr<Workspace> make_workspace() override { return std::make_shared<VulkanWorkspace>(context_); }
  MemoryPlan plan(const Graph& graph, const StoreLayout& layout) const override {
    const auto stay = context_->enter();
    if (layout.host_bytes() == 0) return plan_memory(graph, facts(), layout, tuned({}));
    return plan_memory(with_copied_weights(graph, layout), facts(), layout, tuned({}));
  }
  std::unique_ptr<Program> compile(Graph graph, std::shared_ptr<Store> store, const PlanOptions& given,
                                   std::shared_ptr<Workspace> workspace) override {
    const auto stay = context_->enter();
    if (store) graph = with_copied_weights(std::move(graph), store->layout());
    return make_vulkan_program(context_, std::move(graph), std::static_pointer_cast<VulkanStore>(store), tuned(given),
                               std::static_pointer_cast<VulkanWorkspace>(workspace));
  }
  CommandCounts make_pipelines(const Graph& given, const StoreLayout& layout, const PlanOptions& options) override {
    const auto stay = context_->enter();
    const Graph graph = with_copied_weights(given, layout);
    const MemoryPlan memory = plan_memory(graph, facts(), layout, tuned(options));
    const auto commands =
        record_graph(graph, facts(), context_->pipeline_source(), memory, imagined(memory), imagined_readback);
    context_->pipelines.wait();
    return count_commands(commands);
  }

  void make_pipeline(const std::string& name, std::span<const uint32_t> words) override {
    const auto stay = context_->enter();
    context_->pipelines.make({.kernel = name, .variant = "spirv"}, {words.begin(), words.end()}).wait();
  }

  ProgramImage image(const Graph& graph, const PlanOptions& options) override {
    const auto stay = context_->enter();
    ProgramImage image{.plan = plan_memory(graph, facts(), {}, options)};
    std::vector<Launch> launches;
    const PipelineSource source = [&](const Launch& launch) -> const Pipeline& {
      launches.push_back(launch);
      return context_->pipeline_source()(launch);
    };
    const std::vector<Command> commands =
        record_graph(graph, facts(), source, image.plan, imagined(image.plan), imagined_readback);
    context_->pipelines.wait();
    size_t dispatches = 0;
    for (const Command& command : commands) {
      ImageCommand& copy = image.commands.emplace_back(ImageCommand{.command = command});
      copy.command.pipeline = nullptr;
      if (command.kind != Command::Kind::dispatch) continue;
      const Launch& launch = launches[dispatches++];
      copy.kernel = launch.kernel;
      copy.variant = launch.variant;
      copy.constants = launch.constants;
      copy.subgroup_size = launch.subgroup_size;
      for (const EmbeddedShader& shader : embedded_shaders())
        if (shader.kernel == launch.kernel && shader.variant == launch.variant)
          copy.words = with_half_modes(shader.words, facts().half_modes, facts().is_cpu());
    }
    for (size_t block = 0; block < image.plan.arena_blocks.size(); ++block)
      image.arena.push_back(
          {imagined_address(Place::Area::arena, static_cast<int>(block)), image.plan.arena_blocks[block]});
    image.step = {imagined_address(Place::Area::step, 0), image.plan.step_bytes};
    image.readback = {imagined_readback, image.plan.readback_bytes};
    return image;
  }

 private:
  /// With the backend's measured choices and without what the driver can't compile, unless the caller has choices of
  /// its own or forces a kernel.
  PlanOptions tuned(PlanOptions options) const {
    if (options.tuning || !options.candidate.empty()) return options;
    options.tuning = tuning();
    options.refused = &context_->refused;
    return options;
  }

  std::shared_ptr<VulkanContext> context_;
};

Buffer::Memory memory_of(BlockMemory memory) {
  switch (memory) {
    case BlockMemory::device: return Buffer::Memory::device;
    case BlockMemory::weights: return Buffer::Memory::weights;
    case BlockMemory::host: return Buffer::Memory::host;
  }
  return Buffer::Memory::device;
}

bool matrix_cores_right(const std::shared_ptr<VulkanContext>& context, DType type, std::string_view kernel) {
  auto& known = context->matrix_cores_right;
  const std::pair key(type, std::string(kernel));
  if (const auto entry = known.find(key); entry != known.end()) return entry->second;
  if (context->trying_matrix_cores) return false;  // what a check compiles asks for every kernel
  context->trying_matrix_cores = known[key] = true;
  VulkanBackend backend(context);
  const std::string fault = matrix_cores_fault(backend, type, kernel);
  if (!fault.empty())
    context->note(fmt::format("the matrix cores of {} are left alone with {} operands by {}{}: {}",
                              backend.facts().name, name_of(type), stands_for_all(kernel) ? "kernels like " : "",
                              kernel, fault));
  context->trying_matrix_cores = false;
  return known[key] = fault.empty();
}

}  // namespace

VulkanContext::VulkanContext(const std::string& device_choice, const BackendOptions& backend_options)
    : device(device_choice, {.as_gpu = backend_options.as_gpu,
                             .statistics = backend_options.inspect || backend_options.profile_details,
                             .clocks = backend_options.profile_details,
                             .limits = backend_options.limits,
                             .memory = backend_options.memory,
                             .note = backend_options.note}),
      pipelines(device),
      options(backend_options) {
  // Phones' may be far slower than segments.cpp expects, and nothing is learned before a program's second run.
  const DeviceKind kind = device.facts().kind;
  if (kind == DeviceKind::integrated || kind == DeviceKind::other) seconds_per_estimate = 8;
  const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                     .queueFamilyIndex = device.queue_family()};
  command_pool = make_owned<OwnedCommandPool>(device.handle(), vkCreateCommandPool, pool, "vkCreateCommandPool");
  const VkCommandBufferAllocateInfo commands{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             .commandPool = command_pool.get(),
                                             .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                             .commandBufferCount = 1};
  vk_check(vkAllocateCommandBuffers(device.handle(), &commands, &transfer_commands_), "vkAllocateCommandBuffers");
  device.names().name(VK_OBJECT_TYPE_COMMAND_BUFFER, transfer_commands_, "transfers");
}

std::unique_ptr<Buffer> VulkanContext::allocate(uint64_t bytes, Buffer::Memory memory, const std::string& name) {
  auto buffer = std::make_unique<Buffer>(device, std::max<uint64_t>(bytes, 16), memory, name);
  ++allocations;
  return buffer;
}

uint64_t VulkanContext::memory_free() const {
  const uint64_t here = device.memory_free(), all = device.facts().memory_free;
  if (counts_memory(device.physical()) && !options.limits && options.memory == MemoryLimits{}) return here;
  return std::min(here, all - std::min(all, allocated_bytes));
}

uint64_t VulkanContext::host_memory_free() const {
  const uint64_t all = device.facts().host_memory_free;
  return all - std::min(all, host_bytes);
}

std::string VulkanContext::or_elsewhere(uint64_t bytes) const {
  const std::string room = device.roomier_device(bytes);
  return room.empty() ? room : "; " + room;
}

PipelineSource VulkanContext::pipeline_source() {
  return [this](const Launch& launch) -> const Pipeline& {
    return pipelines.get(launch.kernel, launch.variant, launch.constants, launch.subgroup_size);
  };
}

void VulkanContext::transfer(const std::function<void(VkCommandBuffer)>& record) {
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                       .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  vk_check(vkBeginCommandBuffer(transfer_commands_, &begin), "vkBeginCommandBuffer");
  const VkMemoryBarrier2 barrier{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_TRANSFER_BIT,
      .srcAccessMask = VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT,
      .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_TRANSFER_BIT,
      .dstAccessMask = VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_READ_BIT |
                       VK_ACCESS_2_TRANSFER_WRITE_BIT};
  const VkMemoryBarrier2 host_barrier{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = VK_PIPELINE_STAGE_2_TRANSFER_BIT,
      .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
      .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
      .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_SHADER_READ_BIT};
  const VkDependencyInfo before{
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
  const VkDependencyInfo after{
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &host_barrier};
  vkCmdPipelineBarrier2(transfer_commands_, &before);
  record(transfer_commands_);
  vkCmdPipelineBarrier2(transfer_commands_, &after);
  vk_check(vkEndCommandBuffer(transfer_commands_), "vkEndCommandBuffer");
  device.run({&transfer_commands_, 1});
}

void VulkanContext::upload(const Buffer& target, uint64_t offset, std::span<const std::byte> data) {
  if (!staging_) staging_ = allocate(staging_bytes, Buffer::Memory::readback, "staging");
  for (uint64_t done = 0; done < data.size(); done += staging_bytes) {
    const uint64_t chunk = std::min<uint64_t>(staging_bytes, data.size() - done);
    std::memcpy(staging_->mapped().data(), data.data() + done, chunk);
    transfer([&](VkCommandBuffer commands) {
      const VkBufferCopy region{0, offset + done, chunk};
      vkCmdCopyBuffer(commands, staging_->handle(), target.handle(), 1, &region);
    });
  }
}

void VulkanContext::download(const Buffer& source, uint64_t offset, std::span<std::byte> data) {
  if (!staging_) staging_ = allocate(staging_bytes, Buffer::Memory::readback, "staging");
  for (uint64_t done = 0; done < data.size(); done += staging_bytes) {
    const uint64_t chunk = std::min<uint64_t>(staging_bytes, data.size() - done);
    transfer([&](VkCommandBuffer commands) {
      const VkBufferCopy region{offset + done, 0, chunk};
      vkCmdCopyBuffer(commands, source.handle(), staging_->handle(), 1, &region);
    });
    std::memcpy(data.data() + done, staging_->mapped().data(), chunk);
  }
}

void VulkanContext::fill(const Buffer& target, uint32_t pattern) {
  transfer(
      [&](VkCommandBuffer commands) { vkCmdFillBuffer(commands, target.handle(), 0, target.size() / 4 * 4, pattern); });
}

VulkanStore::VulkanStore(std::shared_ptr<VulkanContext> context, const StoreLayout& store_layout,
                         std::shared_ptr<const VulkanStore> shared)
    : Store(store_layout), context_(std::move(context)), shared_(std::move(shared)) {
  const auto own = [&](int64_t (StoreLayout::*bytes)() const) {
    return static_cast<uint64_t>((layout().*bytes)() - (shared_ ? (shared_->layout().*bytes)() : 0));
  };
  const uint64_t needed = own(&StoreLayout::device_bytes), in_host = own(&StoreLayout::host_bytes);
  const uint64_t available = context_->memory_free();
  const std::string& device = context_->device.facts().name;
  if (needed > available)
    fail("parameters and state need {} MiB, {} has {} MiB free; use a smaller model{}", (needed >> 20) + 1, device,
         available >> 20, context_->or_elsewhere(needed + context_->allocated_bytes));
  const uint64_t shared_memory = context_->device.facts().one_memory() ? available - needed : 0,
                 host_available = context_->host_memory_free() + shared_memory;
  check(in_host <= host_available, "{} MiB are to lie in host memory, of which {} has {} MiB; use a smaller model",
        (in_host >> 20) + 1, device, host_available >> 20);
  layout().check_blocks(context_->device.facts());
  uint64_t moved = 0;
  for (size_t i = shared_blocks(); i < layout().blocks().size(); ++i) {
    const auto bytes = static_cast<uint64_t>(layout().blocks()[i]);
    BlockMemory memory = layout().block_memories()[i];
    if (memory == BlockMemory::weights && in_host + moved + bytes > context_->host_memory_free())
      memory = BlockMemory::device;  // there is no other
    blocks_.push_back(context_->allocate(bytes, memory_of(memory), fmt::format("parameters and state {}", i)));
    if (blocks_.back()->moved()) moved += bytes;
    context_->fill(*blocks_.back(), 0);
  }
  if (moved > 0)
    context_->note(
        fmt::format("{} has less memory free than it says: {} MiB of weights lie in the host's, which it reads "
                    "over its bus; tell what it has with --device-memory",
                    device, (moved >> 20) + 1));
  // Last: a store that fails gives everything back.
  context_->allocated_bytes += device_bytes_ = needed - moved;
  context_->host_bytes += host_bytes_ = in_host + moved;
}

VulkanStore::~VulkanStore() {
  context_->allocated_bytes -= device_bytes_;
  context_->host_bytes -= host_bytes_;
}

void VulkanStore::write_elements(const StoreLayout::Entry& entry, int64_t first, std::span<const std::byte> data) {
  const auto stay = context_->enter();
  context_->upload(block(entry.block), static_cast<uint64_t>(entry.offset + entry.type.offset_of(first)), data);
}

void VulkanStore::read_elements(const StoreLayout::Entry& entry, std::span<std::byte> data) const {
  const auto stay = context_->enter();
  context_->download(block(entry.block), static_cast<uint64_t>(entry.offset), data);
}

std::unique_ptr<Backend> make_backend(const std::string& device, const BackendOptions& options) {
  if (device == "reference") return make_reference_backend();
  if (const std::vector<std::string> devices = devices_of(device); devices.size() > 1) {
    std::vector<std::unique_ptr<Backend>> parts;
    for (const std::string& part : devices) {
      check(!part.empty(), "the devices '{}': name each one between its commas", device);
      parts.push_back(make_backend(part, options));
    }
    return make_split_backend(std::move(parts), options);
  }
  const auto context = std::make_shared<VulkanContext>(device, options);
  // What a CPU offers is emulated, tested with the driver, and slow to compile; no heuristic chooses it there.
  if (!context->device.facts().is_cpu() && !options.inspect)
    context->device.set_matrix_check([weak = std::weak_ptr(context)](DType type, std::string_view kernel) {
      const auto alive = weak.lock();  // facts may be copied and outlive their device
      return alive && matrix_cores_right(alive, type, kernel);
    });
  return std::make_unique<VulkanBackend>(context);
}

std::vector<DeviceListing> list_devices() {
  std::vector<DeviceListing> listings;
  const Instance instance;
  for (const InspectedDevice& entry : instance.devices()) listings.push_back({entry.facts, entry.unusable});
  if (const auto best = best_device(instance.devices())) listings[static_cast<size_t>(*best)].best = true;
  return listings;
}

VulkanWorkspace::~VulkanWorkspace() {
  for (int64_t bytes : sizes_) context_->allocated_bytes -= static_cast<uint64_t>(bytes);
}

int64_t VulkanWorkspace::growth(std::span<const int64_t> needed) const {
  int64_t bytes = 0;
  for (size_t i = 0; i < needed.size(); ++i)
    bytes += std::max<int64_t>(0, needed[i] - (i < sizes_.size() ? sizes_[i] : 0));
  return bytes;
}

void VulkanWorkspace::reserve(std::span<const int64_t> needed) {
  if (sizes_.size() < needed.size()) sizes_.resize(needed.size());
  blocks_.resize(sizes_.size());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (needed[i] <= sizes_[i]) continue;
    ++version_;
    blocks_[i].reset();  // first, so that both need not fit
    context_->allocated_bytes -= static_cast<uint64_t>(std::exchange(sizes_[i], 0));
    blocks_[i] =
        context_->allocate(static_cast<uint64_t>(needed[i]), Buffer::Memory::device, fmt::format("temporaries {}", i));
    context_->allocated_bytes += static_cast<uint64_t>(sizes_[i] = needed[i]);
  }
}

}  // namespace vkformer
