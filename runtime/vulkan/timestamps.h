#pragma once
// Timestamps around the commands of a program, and what they said of its last runs.

#include "runtime/vulkan/backend.h"

namespace vkformer {

class Timestamps {
 public:
  /// Two for each of `commands` commands, on a device with timestamps.
  Timestamps(VulkanContext& context, size_t commands);

  /// Command i begins at query 2 i and ends at query 2 i + 1.
  VkQueryPool queries() const { return queries_.get(); }
  /// Reads what a run left that has just ended and forgets the oldest one beyond kept_runs; the first one, in which
  /// drivers compile, as soon as there is another. `times` has the host's part.
  void keep(RunTimes times);
  /// Times of a run without timestamps, to tell what these cost.
  void keep_plain(RunTimes times);

  bool any() const { return !runs_.empty(); }
  /// Begin and length of each command in the last run, and its lengths in all that are kept, in `timing`.
  void fill(size_t command, Timing& timing) const;
  std::vector<RunTimes> run_times() const;

 private:
  static constexpr size_t kept_runs = 32;
  struct Run {
    RunTimes times;
    std::vector<float> seconds;  ///< by command
  };
  double between(uint64_t from, uint64_t to) const;  ///< seconds

  VulkanContext& context_;
  OwnedQueryPool queries_;
  std::vector<uint64_t> ticks_;  ///< of the last run
  std::vector<Run> runs_;
  std::vector<RunTimes> plain_;
  bool first_ = true;
};

}  // namespace vkformer
