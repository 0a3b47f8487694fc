#pragma once
// Timestamps around the commands of a program, and what they said of its last runs.

#include "runtime/vulkan/backend.h"

namespace vkformer {

class Timestamps {
 public:
  /// Two for each span of commands, on a device with timestamps. `spans`: by command its span, 0 to their number - 1,
  /// in this order.
  Timestamps(VulkanContext& context, std::vector<size_t> spans);

  /// Span i begins at query 2 i and ends at query 2 i + 1.
  VkQueryPool queries() const { return queries_.get(); }
  uint32_t count() const { return static_cast<uint32_t>(ticks_.size()); }
  /// That of a command.
  size_t span(size_t command) const { return spans_[command]; }
  /// Reads what a run left that has just ended and forgets the oldest one beyond kept_runs; the first one, in which
  /// drivers compile, as soon as there is another. `times` has the host's part.
  void keep(RunTimes times);
  /// Times of a run without timestamps, to tell what these cost.
  void keep_plain(RunTimes times);

  bool any() const { return !runs_.empty(); }
  /// Begin and length of a span in the last run, and its lengths in all that are kept, in `timing`.
  void fill(size_t span, Timing& timing) const;
  std::vector<RunTimes> run_times() const;

 private:
  static constexpr size_t kept_runs = 32;
  struct Run {
    RunTimes times;
    std::vector<float> seconds;  ///< by span
  };
  double between(uint64_t from, uint64_t to) const;  ///< seconds

  VulkanContext& context_;
  std::vector<size_t> spans_;  ///< by command
  OwnedQueryPool queries_;
  std::vector<uint64_t> ticks_;  ///< of the last run
  std::vector<Run> runs_;
  std::vector<RunTimes> plain_;
  bool first_ = true;
};

}  // namespace vkformer
