#include "runtime/vulkan/segments.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/check.h"

namespace vkformer {

namespace {

/// Seconds a command should take on a device of this kind, before anything was measured there.
double estimate(const Command& command, DeviceKind kind) {
  const bool gpu = kind == DeviceKind::discrete;
  const bool small = kind == DeviceKind::integrated || kind == DeviceKind::other;
  const double flops_per_second = gpu ? 2e12 : small ? 3e11 : 1e10;
  const double bytes_per_second = gpu ? 2e11 : small ? 3e10 : 2e9;
  return 1e-5 + command.cost.flops / flops_per_second + command.cost.bytes / bytes_per_second;
}

/// One side of a barrier.
struct Scope {
  VkPipelineStageFlags2 stage = 0;
  VkAccessFlags2 access = 0;
};

void emit_barrier(VkCommandBuffer commands, const Scope& before, const Scope& behind) {
  const VkMemoryBarrier2 barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                 .srcStageMask = before.stage,
                                 .srcAccessMask = before.access,
                                 .dstStageMask = behind.stage,
                                 .dstAccessMask = behind.access};
  const VkDependencyInfo dependency{
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &barrier};
  vkCmdPipelineBarrier2(commands, &dependency);
}

/// What commands wrote, copies and fills among them or not.
Scope writes(bool transfers) {
  Scope scope{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_WRITE_BIT};
  if (transfers) scope.stage |= VK_PIPELINE_STAGE_2_TRANSFER_BIT, scope.access |= VK_ACCESS_2_TRANSFER_WRITE_BIT;
  return scope;
}

/// What commands will read and write.
Scope accesses(bool transfers) {
  Scope scope = writes(transfers);
  scope.access |= VK_ACCESS_2_SHADER_READ_BIT;
  if (transfers) scope.access |= VK_ACCESS_2_TRANSFER_READ_BIT;
  return scope;
}

bool is_transfer(const Command& command) { return command.kind != Command::Kind::dispatch; }

void end(VkCommandBuffer commands) { vk_check(vkEndCommandBuffer(commands), "vkEndCommandBuffer"); }

}  // namespace

std::vector<WorkgroupRange> cut_dispatch(const std::array<uint32_t, 3>& groups, uint32_t count) {
  std::vector<WorkgroupRange> pieces = {{.groups = groups}};
  const size_t last = groups[1] > 1 ? 1 : 0;  // kernels number workgroups by rows, so several rows stay whole along x
  for (size_t axis = 3; count > 1 && axis > last;) {
    --axis;
    const uint32_t step = std::max(1u, groups[axis] / count);
    std::vector<WorkgroupRange> slices;
    for (const WorkgroupRange& piece : pieces)
      for (uint32_t first = 0; first < groups[axis]; first += slices.back().groups[axis]) {
        WorkgroupRange& slice = slices.emplace_back(piece);
        slice.first[axis] = first;
        slice.groups[axis] = std::min(step, groups[axis] - first);
      }
    pieces = std::move(slices);
    count = groups_for(count, groups[axis]);
  }
  return pieces;
}

std::vector<size_t> order_of(std::span<const Command> commands, bool backwards) {
  std::vector<size_t> order(commands.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t begin = 0, end = 0; backwards && begin < order.size(); begin = end) {
    do ++end;
    while (end < order.size() && !commands[end].barrier_before);
    std::reverse(order.begin() + static_cast<std::ptrdiff_t>(begin), order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return order;
}

double learned_factor(double guess, double seconds, double certain, double bounds) {
  if (guess * certain > seconds) return seconds / certain;
  return std::max(guess, seconds / (certain + bounds));
}

double SlowedCuts::factor(double guess, double seconds, size_t segments, double longest, double budget) {
  const double segment = seconds / static_cast<double>(segments);
  const bool full = longest > budget / 2;  // else even twice the guess takes nothing apart
  if (segment < 2 * budget || (full && segments <= segments_)) return guess;
  if (full) segments_ = segments;
  return guess * std::min(segment / budget, 4.0);
}

void Segments::clear() {
  if (!buffers_.empty())
    vkFreeCommandBuffers(context_.device.handle(), context_.command_pool.get(), static_cast<uint32_t>(buffers_.size()),
                         buffers_.data());
  buffers_.clear();
  submissions_.clear();
}

void Segments::submit() {
  check(!buffers_.empty(), "this program could not be recorded; make it anew");
  submitted_ = context_.device.submit(buffers_);
}

void Segments::wait() { context_.device.wait(std::move(submitted_)); }

void Segments::cut(std::span<const Command> commands, const Lookup& lookup, const Timestamps* timestamps) {
  clear();
  for (const Command& command : commands)
    if (command.pipeline) command.pipeline->handle();  // throws before anything is written
  try {
    write_all(commands, lookup, timestamps);
  } catch (...) {
    clear();  // no part of a program runs
    throw;
  }
}

void Segments::write_all(std::span<const Command> commands, const Lookup& lookup, const Timestamps* timestamps) {
  const auto timestamp = [&](VkCommandBuffer target, size_t query) {
    vkCmdWriteTimestamp2(target, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, timestamps->queries(),
                         static_cast<uint32_t>(query));
  };
  const double budget = context_.options.segment_seconds;
  double time = 0;
  VkCommandBuffer current = begin();
  if (timestamps) vkCmdResetQueryPool(current, timestamps->queries(), 0, timestamps->count());
  longest_ = 0;
  // What other programs ran at, matrix cores perhaps, may be twenty times what this one's kernels reach.
  cut_factor_ = own_factor_ > 0 ? own_factor_ : std::max(0.5, context_.seconds_per_estimate);
  submissions_.resize(commands.size());
  const std::vector<size_t> order = order_of(commands, context_.options.backwards);
  std::map<size_t, std::pair<size_t, size_t>> ends;  // by span: where it begins and ends in this order
  for (size_t at = 0; timestamps && at < order.size(); ++at)
    ends.try_emplace(timestamps->span(order[at]), at, at).first->second.second = at;
  // Whether there are copies or fills among the commands from `at` to the next barrier.
  const auto transfers_from = [&](size_t at) {
    bool any = is_transfer(commands[order[at]]);
    while (!any && ++at < order.size() && !commands[at].barrier_before) any = is_transfer(commands[order[at]]);
    return any;
  };
  bool transfers = true;  // since the last barrier, or before this program
  for (size_t at = 0; at < commands.size(); ++at) {
    const size_t i = order[at];
    const Command& command = commands[i];
    const double cost = cut_factor_ * estimate(command, context_.device.facts().kind);
    if (time > 0 && time + cost > budget) {
      end(current);
      current = begin();
      time = 0;
    }
    submissions_[i] = buffers_.size() - 1;
    const size_t span = timestamps ? timestamps->span(i) : 0;
    const bool begins = timestamps && ends[span].first == at, finishes = timestamps && ends[span].second == at;
    // A timestamp holds nothing back: without a barrier the next command would run within what is measured of this one.
    if (begins || commands[at].barrier_before) {
      // A queue that can draw flushes more caches where copies are named (radv, anv), at each of a token's barriers.
      emit_barrier(current, writes(transfers), accesses(transfers_from(at)));
      transfers = false;
    }
    transfers |= is_transfer(command);
    if (begins) timestamp(current, 2 * span);
    if (command.kind == Command::Kind::dispatch && cost > budget)
      write_pieces(current, command, lookup, static_cast<uint32_t>(std::min(1e6, cost / budget)) + 1);
    else
      write(current, command, lookup, {.groups = command.groups});
    if (finishes) timestamp(current, 2 * span + 1);
    time += cost;
    longest_ = std::max(longest_, std::min(time, budget));
  }
  emit_barrier(current, writes(true), {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT});
  end(current);
}

void Segments::write_pieces(VkCommandBuffer& current, const Command& command, const Lookup& lookup, uint32_t pieces) {
  bool first = true;
  for (const WorkgroupRange& piece : cut_dispatch(command.groups, pieces)) {
    if (!std::exchange(first, false)) {
      end(current);
      current = begin();
    }
    write(current, command, lookup, piece);
  }
}

void Segments::write(VkCommandBuffer target, const Command& command, const Lookup& lookup,
                     const WorkgroupRange& range) {
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
      vkCmdDispatchBase(target, range.first[0], range.first[1], range.first[2], range.groups[0], range.groups[1],
                        range.groups[2]);
  }
  if (names) names.end_label(target);
}

bool Segments::learn_speed(std::span<const Command> commands, double seconds) {
  double certain = 0, bounds = 0;
  for (const Command& command : commands)
    (command.cost.at_most ? bounds : certain) += estimate(command, context_.device.facts().kind);
  if (certain + bounds <= 0) return false;
  own_factor_ = learned_factor(cut_factor_, seconds, certain, bounds);
  if (seconds >= context_.longest_run) {
    context_.longest_run = seconds;
    context_.seconds_per_estimate = learned_factor(context_.seconds_per_estimate, seconds, certain, bounds);
  }
  const double longest = longest_ * own_factor_ / cut_factor_;
  const double budget = context_.options.segment_seconds;
  return longest > 4 * budget || (buffers_.size() > 1 && longest < budget / 4);
}

bool Segments::slow_down(double seconds) {
  if (context_.device.facts().is_cpu()) return false;  // no watchdog looks after it
  own_factor_ = slowed_.factor(cut_factor_, seconds, buffers_.size(), longest_, context_.options.segment_seconds);
  return own_factor_ != cut_factor_;
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
