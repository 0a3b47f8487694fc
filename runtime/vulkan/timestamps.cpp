#include "runtime/vulkan/timestamps.h"

namespace vkformer {

Timestamps::Timestamps(VulkanContext& context, std::vector<size_t> spans)
    : context_(context), spans_(std::move(spans)), ticks_((spans_.back() + 1) * 2) {
  const VkQueryPoolCreateInfo queries{
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = count()};
  queries_ = make_owned<OwnedQueryPool>(context_.device.handle(), vkCreateQueryPool, queries, "vkCreateQueryPool");
  context_.device.names().name(VK_OBJECT_TYPE_QUERY_POOL, queries_.get(), "timestamps");
}

double Timestamps::between(uint64_t from, uint64_t to) const {
  const DeviceFacts& facts = context_.device.facts();
  const uint64_t mask = facts.timestamp_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << facts.timestamp_bits) - 1;
  return static_cast<double>((to - from) & mask) * static_cast<double>(facts.timestamp_period) * 1e-9;
}

void Timestamps::keep(RunTimes times) {
  vk_check(vkGetQueryPoolResults(context_.device.handle(), queries_.get(), 0, count(), ticks_.size() * 8, ticks_.data(),
                                 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
           "vkGetQueryPoolResults", context_.device.label());
  Run run{.times = times, .seconds = {}};
  for (size_t i = 0; i < ticks_.size(); i += 2)
    run.seconds.push_back(static_cast<float>(between(ticks_[i], ticks_[i + 1])));
  run.times.device = between(ticks_.front(), ticks_.back());
  if (const auto clocks = context_.device.clocks())
    run.times.latency = clocks->host - between(ticks_.front(), clocks->ticks) - times.begin;
  if (runs_.size() == kept_runs || (first_ && !runs_.empty())) {
    first_ = false;
    runs_.erase(runs_.begin());
  }
  runs_.push_back(std::move(run));
}

void Timestamps::keep_plain(RunTimes times) {
  if (plain_.size() == kept_runs) plain_.erase(plain_.begin());
  times.timed = false;
  plain_.push_back(times);
}

void Timestamps::fill(size_t span, Timing& timing) const {
  timing.start = between(ticks_.front(), ticks_[2 * span]);
  timing.seconds = between(ticks_[2 * span], ticks_[2 * span + 1]);
  for (const Run& run : runs_) timing.recent.push_back(run.seconds[span]);
}

std::vector<RunTimes> Timestamps::run_times() const {
  std::vector<RunTimes> all;
  for (const Run& run : runs_) all.push_back(run.times);
  all.insert(all.end(), plain_.begin(), plain_.end());
  return all;
}

}  // namespace vkformer
