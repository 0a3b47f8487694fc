#include "runtime/vulkan/segments.h"

#include <algorithm>
#include <chrono>

#include "runtime/check.h"

namespace vkformer {

namespace {

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

void end(VkCommandBuffer commands) { vk_check(vkEndCommandBuffer(commands), "vkEndCommandBuffer"); }

}  // namespace

void Segments::clear() {
  if (!buffers_.empty())
    vkFreeCommandBuffers(context_.device.handle(), context_.command_pool.get(), static_cast<uint32_t>(buffers_.size()),
                         buffers_.data());
  buffers_.clear();
  submissions_.clear();
}

double Segments::run() {
  const auto start = std::chrono::steady_clock::now();
  check(!buffers_.empty(), "this program could not be recorded; make it anew");
  context_.device.run(buffers_);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void Segments::cut(std::span<const Command> commands, const Lookup& lookup, VkQueryPool queries) {
  clear();
  for (const Command& command : commands)
    if (command.pipeline) command.pipeline->handle();  // throws before anything is written
  try {
    write_all(commands, lookup, queries);
  } catch (...) {
    clear();  // no part of a program runs
    throw;
  }
}

void Segments::write_all(std::span<const Command> commands, const Lookup& lookup, VkQueryPool queries) {
  const auto timestamp = [&](VkCommandBuffer target, size_t query) {
    if (queries)
      vkCmdWriteTimestamp2(target, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries, static_cast<uint32_t>(query));
  };
  const double budget = context_.options.segment_seconds;
  double time = 0;
  VkCommandBuffer current = begin();
  if (queries) vkCmdResetQueryPool(current, queries, 0, static_cast<uint32_t>(commands.size() * 2));
  longest_ = 0;
  cut_factor_ = own_factor_ > 0 ? own_factor_ : context_.seconds_per_estimate;
  for (size_t i = 0; i < commands.size(); ++i) {
    const Command& command = commands[i];
    const double cost = cut_factor_ * estimate(command, context_.device.facts().kind);
    if (time > 0 && time + cost > budget) {
      end(current);
      current = begin();
      time = 0;
    }
    submissions_.push_back(buffers_.size() - 1);
    if (command.barrier_before) emit_barrier(current);
    timestamp(current, 2 * i);
    if (command.kind == Command::Kind::dispatch && cost > budget)
      write_pieces(current, command, lookup, static_cast<uint32_t>(std::min(1e6, cost / budget)) + 1);
    else
      write(current, command, lookup, command.groups, {0, 0, 0});
    timestamp(current, 2 * i + 1);
    time += cost;
    longest_ = std::max(longest_, std::min(time, budget));
  }
  emit_barrier(current, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
  end(current);
}

void Segments::write_pieces(VkCommandBuffer& current, const Command& command, const Lookup& lookup, uint32_t pieces) {
  const size_t axis = command.groups[2] > 1 ? 2 : command.groups[1] > 1 ? 1 : 0;
  const uint32_t groups = command.groups[axis];
  const uint32_t step = std::max(1u, (groups + pieces - 1) / pieces);
  for (uint32_t first = 0; first < groups; first += step) {
    if (first > 0) {
      end(current);
      current = begin();
    }
    std::array<uint32_t, 3> size = command.groups, base = {0, 0, 0};
    base[axis] = first;
    size[axis] = std::min(step, groups - first);
    write(current, command, lookup, size, base);
  }
}

void Segments::write(VkCommandBuffer target, const Command& command, const Lookup& lookup,
                     const std::array<uint32_t, 3>& groups, const std::array<uint32_t, 3>& base) {
  ++recorded_dispatches_;
  const DebugNames& names = context_.device.names();
  if (names) names.begin_label(target, lookup.label(command));
  switch (command.kind) {
    case Command::Kind::copy: {
      const auto [source, source_offset] = lookup.locate(command.source);
      const auto [destination, destination_offset] = lookup.locate(command.target);
      const VkBufferCopy region{source_offset, destination_offset, command.source.bytes};
      vkCmdCopyBuffer(target, source, destination, 1, &region);
      break;
    }
    case Command::Kind::fill: {
      const auto [destination, offset] = lookup.locate(command.target);
      vkCmdFillBuffer(target, destination, offset, command.target.bytes, command.pattern);
      break;
    }
    case Command::Kind::dispatch:
      vkCmdBindPipeline(target, VK_PIPELINE_BIND_POINT_COMPUTE, command.pipeline->handle());
      vkCmdPushConstants(target, context_.pipelines.layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0, command.args_size,
                         command.args.data());
      vkCmdDispatchBase(target, base[0], base[1], base[2], groups[0], groups[1], groups[2]);
  }
  if (names) names.end_label(target);
}

bool Segments::learn_speed(std::span<const Command> commands, double seconds) {
  double estimated = 0;
  for (const Command& command : commands) estimated += estimate(command, context_.device.facts().kind);
  if (estimated <= 0) return false;
  own_factor_ = seconds / estimated;
  if (seconds >= context_.longest_run) {
    context_.longest_run = seconds;
    context_.seconds_per_estimate = own_factor_;
  }
  const double longest = longest_ * own_factor_ / cut_factor_;
  const double budget = context_.options.segment_seconds;
  return longest > 4 * budget || (buffers_.size() > 1 && longest < budget / 4);
}

VkCommandBuffer Segments::begin() {
  const VkCommandBufferAllocateInfo allocation{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                               .commandPool = context_.command_pool.get(),
                                               .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                               .commandBufferCount = 1};
  VkCommandBuffer commands = nullptr;
  vk_check(vkAllocateCommandBuffers(context_.device.handle(), &allocation, &commands), "vkAllocateCommandBuffers");
  context_.device.names().name(VK_OBJECT_TYPE_COMMAND_BUFFER, commands, fmt::format("submission {}", buffers_.size()));
  buffers_.push_back(commands);
  ++command_buffers_;
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  vk_check(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  return commands;
}

}  // namespace vkformer
