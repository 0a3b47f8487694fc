#pragma once
// What all that measures kernels has in common.

#include <chrono>
#include <map>
#include <optional>

#include "runtime/backend.h"

namespace vkformer {

/// Seconds of work after which the clocks of a GPU that was idle have risen: an NVIDIA H200's stay at 345 of 1980 MHz
/// for half a second. Software drivers need none.
inline double waking_seconds(const DeviceFacts& facts) { return facts.is_cpu() ? 0 : 1; }

/// Brings a device to its usual speed before programs are measured.
class WarmUp {
 public:
  explicit WarmUp(const DeviceFacts& facts) : waking_seconds_(waking_seconds(facts)) {}

  /// Runs the program at least `runs` times, since drivers may compile in the first, and until it has been busy for
  /// 20 ms; for waking_seconds() where the device may have fallen asleep, 0.1 s after the last call.
  void operator()(Program& program, int runs = 1);

 private:
  double waking_seconds_;
  std::optional<std::chrono::steady_clock::time_point> awake_at_;
};

/// Seconds that each node took in the last run, by its index: from the beginning of its first dispatch to the end of
/// its last.
std::map<int, double> node_seconds(const Program& program);

}  // namespace vkformer
