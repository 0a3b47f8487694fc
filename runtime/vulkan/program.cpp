// A recorded program: the graph's dispatches in command buffers ("segments") that are submitted again and again.

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/recorder.h"
#include "runtime/vulkan/backend.h"

namespace vkformer {

namespace {

// A quiet NaN: what was never written shows in results, and what lies behind a tensor must stay like this.
// Inputs have another one behind them, so that even a sum of two elements beyond the end shows.
constexpr uint32_t poison = 0x7fc0beef;
constexpr uint32_t input_poison = 0x7fc0dead;

/// Seconds a command should take on a device of this kind, before anything was measured there.
double estimate(const Command& command, DeviceKind kind) {
  const bool gpu = kind == DeviceKind::discrete;
  const bool small = kind == DeviceKind::integrated || kind == DeviceKind::other;
  const double flops_per_second = gpu ? 2e12 : small ? 1e11 : 1e10;
  const double bytes_per_second = gpu ? 2e11 : small ? 1e10 : 2e9;
  return 1e-5 + command.cost.flops / flops_per_second + command.cost.bytes / bytes_per_second;
}

void emit_barrier(VkCommandBuffer commands, VkPipelineStageFlags2 destination_stage, VkAccessFlags2 destination) {
  const VkMemoryBarrier2 barrier{
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
      .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_TRANSFER_BIT,
      .srcAccessMask = VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT,
      .dstStageMask = destination_stage,
      .dstAccessMask = destination};
  const VkDependencyInfo dependency{
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
  vkCmdPipelineBarrier2(commands, &dependency);
}

void emit_barrier(VkCommandBuffer commands) {
  emit_barrier(commands, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_TRANSFER_BIT,
               VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_READ_BIT |
                   VK_ACCESS_2_TRANSFER_WRITE_BIT);
}

class VulkanProgram : public Program {
 public:
  VulkanProgram(std::shared_ptr<VulkanContext> context, Graph graph, std::shared_ptr<VulkanStore> store,
                const PlanOptions& options, std::shared_ptr<VulkanWorkspace> workspace)
      : Program(std::move(graph)),
        context_(std::move(context)),
        store_(std::move(store)),
        workspace_(workspace ? std::move(workspace) : std::make_shared<VulkanWorkspace>(context_)),
        guard_bytes_(options.guard_bytes),
        profile_(options.profile || context_->options.profile),
        plan_(plan_memory(graph_, context_->device.facts(), store_ ? store_->layout() : StoreLayout{}, options)) {
    try {
      allocate();
      const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      vk_check(vkCreateFence(context_->device.handle(), &fence, nullptr, &fence_), "vkCreateFence");
      record_commands();
    } catch (...) {
      release();
      throw;
    }
  }

  ~VulkanProgram() override { release(); }

  void run() override {
    if (recorded_version_ != workspace_->version()) {  // it has grown for another program
      workspace_->reserve(plan_.arena_blocks);
      record_commands();
    }
    if (segments_.empty()) cut_segments();  // not before: until then pipelines are being made while the host works
    if (guard_bytes_ > 0)
      for (const auto& block : workspace_->blocks()) context_->fill(*block, poison);
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < segments_.size(); ++i)
      context_->device.submit(segments_[i], i + 1 == segments_.size() ? fence_ : VK_NULL_HANDLE);
    const VkDevice device = context_->device.handle();
    vk_check(vkWaitForFences(device, 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
    vk_check(vkResetFences(device, 1, &fence_), "vkResetFences");
    ++counters_.runs;
    learn_speed(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

  const MemoryPlan& plan() const override { return plan_; }
  Counters counters() const override {
    Counters counters = counters_;
    counters.allocations = context_->allocations;
    return counters;
  }

  std::vector<Timing> timings() const override {
    if (!queries_ || counters_.runs == 0) return {};
    std::vector<uint64_t> ticks(commands_.size() * 2);
    vk_check(
        vkGetQueryPoolResults(context_->device.handle(), queries_, 0, static_cast<uint32_t>(ticks.size()),
                              ticks.size() * 8, ticks.data(), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
        "vkGetQueryPoolResults");
    const uint32_t bits = context_->device.facts().timestamp_bits;
    const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    const auto between = [&](uint64_t from, uint64_t to) { return static_cast<double>((to - from) & mask); };
    const double period = static_cast<double>(context_->device.facts().timestamp_period) * 1e-9;
    std::vector<Timing> timings;
    for (size_t i = 0; i < commands_.size(); ++i) {
      const Command& command = commands_[i];
      Timing timing{.kernel = command.kernel,
                    .start = between(ticks[0], ticks[2 * i]) * period,
                    .seconds = between(ticks[2 * i], ticks[2 * i + 1]) * period,
                    .cost = command.cost};
      if (command.node >= 0) {
        const Node& node = graph_.nodes()[static_cast<size_t>(command.node)];
        timing.scope = node.scope;
        timing.op = node.op->name;
        timing.node = command.node;
        timing.candidate = plan_.candidate[static_cast<size_t>(command.node)];
      }
      timings.push_back(std::move(timing));
    }
    return timings;
  }

  void check_guards() const override {
    if (guard_bytes_ == 0) return;
    const auto at = [&](std::span<const std::byte> bytes, int64_t offset) {
      uint32_t word;
      std::memcpy(&word, bytes.data() + offset, 4);
      return word;
    };
    std::vector<std::vector<std::byte>> blocks;
    for (const auto& block : workspace_->blocks()) {
      blocks.emplace_back(block->size());
      context_->download(*block, 0, blocks.back());
    }
    const auto inspect = [&](const std::string& name, const Place& place, std::span<const std::byte> bytes,
                             uint32_t expected) {
      for (int64_t i = place.offset + place.bytes; i < place.offset + place.bytes + guard_bytes_; i += 4)
        check(at(bytes, i) == expected, "{} bytes behind {} were overwritten", i - place.offset - place.bytes + 4,
              name);
    };
    for (const PlannedItem& item : plan_.items)
      inspect(item.name, item.place, blocks[static_cast<size_t>(item.place.block)], poison);
    for (Value input : graph_.inputs())
      inspect(graph_.info(input).name, plan_.values[static_cast<size_t>(input.id)], step_->mapped(), input_poison);
  }

 protected:
  void write_bytes(Value input, std::span<const std::byte> data) override {
    const Place& place = plan_.values[static_cast<size_t>(input.id)];
    std::memcpy(step_->mapped().data() + place.offset, data.data(), data.size());
  }
  void read_bytes(Value output, std::span<std::byte> data) const override {
    const auto& outputs = graph_.outputs();
    const auto i = static_cast<size_t>(std::find(outputs.begin(), outputs.end(), output) - outputs.begin());
    std::memcpy(data.data(), readback_->mapped().data() + plan_.readback[i].offset, data.size());
  }

 private:
  void release() {
    const VkDevice device = context_->device.handle();
    vkDeviceWaitIdle(device);
    free_segments();
    if (queries_) vkDestroyQueryPool(device, queries_, nullptr);
    if (fence_) vkDestroyFence(device, fence_, nullptr);
    context_->allocated_bytes -= accounted_;
  }

  void allocate() {
    const auto own = static_cast<uint64_t>(plan_.step_bytes + plan_.readback_bytes);
    const uint64_t needed = own + static_cast<uint64_t>(workspace_->growth(plan_.arena_blocks));
    const uint64_t available = context_->device.memory_free();
    if (needed > available) {
      std::string biggest;
      for (size_t i = 0; i < std::min<size_t>(3, plan_.items.size()); ++i)
        biggest += fmt::format("{}{} ({} MiB)", i ? ", " : "", plan_.items[i].name, plan_.items[i].bytes >> 20);
      fail("temporaries need {} MiB, {} has {} MiB free; biggest: {}; use a smaller batch or context", needed >> 20,
           context_->device.facts().name, available >> 20, biggest);
    }
    workspace_->reserve(plan_.arena_blocks);
    step_ = context_->allocate(static_cast<uint64_t>(plan_.step_bytes), Buffer::Memory::upload);
    readback_ = context_->allocate(static_cast<uint64_t>(plan_.readback_bytes), Buffer::Memory::readback);
    context_->allocated_bytes += accounted_ = own;
    const std::span<std::byte> step = step_->mapped();
    for (size_t i = 0; i + 4 <= step.size(); i += 4) std::memcpy(step.data() + i, &input_poison, 4);
  }

  Region resolve(const Place& place) const {
    const auto offset = static_cast<uint64_t>(place.offset), bytes = static_cast<uint64_t>(place.bytes);
    switch (place.area) {
      case Place::Area::none: return {};
      case Place::Area::arena:
        return {workspace_->blocks()[static_cast<size_t>(place.block)]->address() + offset, bytes};
      case Place::Area::step: return {step_->address() + offset, bytes};
      case Place::Area::store: return {store_->block(place.block).address() + offset, bytes};
    }
    return {};
  }

  void record_commands() {
    Placement placement;
    for (const Place& place : plan_.values) placement.values.push_back(resolve(place));
    for (const Place& place : plan_.scratch) placement.scratch.push_back(resolve(place));
    Recorder recorder(graph_, context_->device.facts(), context_->pipelines, placement);
    for (int node : plan_.live_nodes) recorder.record(node, plan_.candidate[static_cast<size_t>(node)]);
    recorder.leave_nodes();
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      Region target{readback_->address() + static_cast<uint64_t>(plan_.readback[i].offset),
                    static_cast<uint64_t>(plan_.readback[i].bytes)};
      recorder.copy(placement.values[static_cast<size_t>(graph_.outputs()[i].id)], target);
    }
    commands_ = recorder.take_commands();
    // What other programs wrote to the store becomes visible here.
    if (!commands_.empty()) commands_.front().barrier_before = true;
    counters_.dispatches = commands_.size();
    counters_.barriers = static_cast<uint64_t>(
        std::count_if(commands_.begin(), commands_.end(), [](const Command& c) { return c.barrier_before; }));
    create_queries();
    free_segments();
    recorded_version_ = workspace_->version();
  }

  void create_queries() {
    if (queries_ || !profile_ || context_->device.facts().timestamp_period <= 0 || commands_.empty()) return;
    const VkQueryPoolCreateInfo queries{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = static_cast<uint32_t>(commands_.size() * 2)};
    vk_check(vkCreateQueryPool(context_->device.handle(), &queries, nullptr, &queries_), "vkCreateQueryPool");
  }

  // Writes the command buffers: a new one whenever the estimated time of the current one exceeds the budget, and a
  // dispatch that exceeds it alone in several pieces.
  void cut_segments() {
    free_segments();
    for (const Command& command : commands_)
      if (command.pipeline) command.pipeline->handle();  // throws before anything is written
    const double budget = context_->options.segment_seconds;
    double time = 0;
    VkCommandBuffer current = begin_segment();
    longest_segment_ = 0;
    cut_factor_ = context_->seconds_per_estimate;
    for (size_t i = 0; i < commands_.size(); ++i) {
      const Command& command = commands_[i];
      const double cost = context_->seconds_per_estimate * estimate(command, context_->device.facts().kind);
      if (time > 0 && time + cost > budget) {
        end_segment(current);
        current = begin_segment();
        time = 0;
      }
      if (command.barrier_before) emit_barrier(current);
      timestamp(current, 2 * i);
      if (command.kind == Command::Kind::dispatch && cost > budget)
        dispatch_in_pieces(current, command, static_cast<uint32_t>(std::min(1e6, cost / budget)) + 1);
      else
        write_command(current, command, command.groups, {0, 0, 0});
      timestamp(current, 2 * i + 1);
      time += cost;
      longest_segment_ = std::max(longest_segment_, std::min(time, budget));
    }
    emit_barrier(current, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
    end_segment(current);
    counters_.segments = segments_.size();
  }

  void dispatch_in_pieces(VkCommandBuffer& current, const Command& command, uint32_t pieces) {
    const size_t axis = command.groups[2] > 1 ? 2 : command.groups[1] > 1 ? 1 : 0;
    const uint32_t groups = command.groups[axis];
    const uint32_t step = std::max(1u, (groups + pieces - 1) / pieces);
    for (uint32_t first = 0; first < groups; first += step) {
      if (first > 0) {
        end_segment(current);
        current = begin_segment();
      }
      std::array<uint32_t, 3> size = command.groups, base = {0, 0, 0};
      base[axis] = first;
      size[axis] = std::min(step, groups - first);
      write_command(current, command, size, base);
    }
  }

  void write_command(VkCommandBuffer target, const Command& command, const std::array<uint32_t, 3>& groups,
                     const std::array<uint32_t, 3>& base) {
    ++counters_.recorded_dispatches;
    if (command.kind == Command::Kind::copy) {
      const auto [source, source_offset] = locate(command.source);
      const auto [destination, destination_offset] = locate(command.target);
      const VkBufferCopy region{source_offset, destination_offset, command.source.bytes};
      vkCmdCopyBuffer(target, source, destination, 1, &region);
      return;
    }
    if (command.kind == Command::Kind::fill) {
      const auto [destination, offset] = locate(command.target);
      vkCmdFillBuffer(target, destination, offset, command.target.bytes, command.pattern);
      return;
    }
    vkCmdBindPipeline(target, VK_PIPELINE_BIND_POINT_COMPUTE, command.pipeline->handle());
    vkCmdPushConstants(target, context_->pipelines.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, command.args_size,
                       command.args.data());
    vkCmdDispatchBase(target, base[0], base[1], base[2], groups[0], groups[1], groups[2]);
  }

  std::pair<VkBuffer, uint64_t> locate(const Region& region) const {
    const auto inside = [&](const Buffer& buffer) {
      return region.address >= buffer.address() && region.address < buffer.address() + buffer.size();
    };
    for (const auto& block : workspace_->blocks())
      if (block && inside(*block)) return {block->handle(), region.address - block->address()};
    for (const Buffer* buffer : {step_.get(), readback_.get()})
      if (inside(*buffer)) return {buffer->handle(), region.address - buffer->address()};
    for (size_t i = 0; store_ && i < store_->layout().blocks().size(); ++i) {
      const Buffer& block = store_->block(static_cast<int>(i));
      if (inside(block)) return {block.handle(), region.address - block.address()};
    }
    fail("a copy names memory outside the program");
  }

  // The guess of a device's speed is replaced by what programs take; when that shows that segments are far from the
  // budget, the program is cut anew, once.
  void learn_speed(double seconds) {
    if (counters_.runs != 2) return;  // the first run includes the driver's compilation
    double estimated = 0;
    for (const Command& command : commands_) estimated += estimate(command, context_->device.facts().kind);
    if (estimated <= 0) return;
    context_->seconds_per_estimate = seconds / estimated;
    const double longest = longest_segment_ * context_->seconds_per_estimate / cut_factor_;
    const double budget = context_->options.segment_seconds;
    if (longest > 4 * budget || (segments_.size() > 1 && longest < budget / 4)) cut_segments();
  }

  VkCommandBuffer begin_segment() {
    const VkCommandBufferAllocateInfo allocation{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                 .commandPool = context_->command_pool,
                                                 .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                 .commandBufferCount = 1};
    VkCommandBuffer commands = nullptr;
    vk_check(vkAllocateCommandBuffers(context_->device.handle(), &allocation, &commands), "vkAllocateCommandBuffers");
    const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    vk_check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    if (segments_.empty() && queries_)
      vkCmdResetQueryPool(commands, queries_, 0, static_cast<uint32_t>(commands_.size() * 2));
    segments_.push_back(commands);
    ++counters_.command_buffers;
    return commands;
  }

  void end_segment(VkCommandBuffer commands) { vk_check(vkEndCommandBuffer(commands), "vkEndCommandBuffer"); }

  void free_segments() {
    if (!segments_.empty())
      vkFreeCommandBuffers(context_->device.handle(), context_->command_pool, static_cast<uint32_t>(segments_.size()),
                           segments_.data());
    segments_.clear();
  }

  void timestamp(VkCommandBuffer commands, size_t query) {
    if (queries_)
      vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries_, static_cast<uint32_t>(query));
  }

  std::shared_ptr<VulkanContext> context_;
  std::shared_ptr<VulkanStore> store_;
  std::shared_ptr<VulkanWorkspace> workspace_;
  int64_t guard_bytes_;
  bool profile_;
  MemoryPlan plan_;
  std::unique_ptr<Buffer> step_, readback_;
  std::vector<Command> commands_;
  std::vector<VkCommandBuffer> segments_;
  VkQueryPool queries_ = nullptr;
  VkFence fence_ = nullptr;
  double longest_segment_ = 0;     ///< seconds, estimated when the segments were cut
  double cut_factor_ = 1;          ///< context_->seconds_per_estimate then
  uint64_t accounted_ = 0;         ///< bytes in context_->allocated_bytes
  uint64_t recorded_version_ = 0;  ///< of the workspace
  Counters counters_;
};

}  // namespace

std::unique_ptr<Program> make_vulkan_program(std::shared_ptr<VulkanContext> context, Graph graph,
                                             std::shared_ptr<VulkanStore> store, const PlanOptions& options,
                                             std::shared_ptr<VulkanWorkspace> workspace) {
  return std::make_unique<VulkanProgram>(std::move(context), std::move(graph), std::move(store), options,
                                         std::move(workspace));
}

}  // namespace vkformer
