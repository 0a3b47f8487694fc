#include "runtime/measure.h"

#include <algorithm>

namespace vkformer {

namespace {

constexpr double busy_seconds = 0.02;
constexpr std::chrono::milliseconds awake_for{100};
constexpr int most_runs = 20000;  ///< of a program that takes no time

}  // namespace

void WarmUp::operator()(Program& program, int runs) {
  using Clock = std::chrono::steady_clock;
  const bool awake = awake_at_ && Clock::now() - *awake_at_ < awake_for;
  const double seconds = awake ? busy_seconds : std::max(busy_seconds, waking_seconds_);
  const double before = program.counters().seconds;
  for (int run = 0; run < most_runs && (run < runs || program.counters().seconds - before < seconds); ++run)
    program.run();
  awake_at_ = Clock::now();
}

std::map<int, double> node_seconds(const Program& program) {
  std::map<int, double> begins, seconds;
  for (const Timing& timing : program.timings()) {
    if (timing.node < 0) continue;
    const double begin = begins.try_emplace(timing.node, timing.start).first->second;
    seconds[timing.node] = timing.start + timing.seconds - begin;
  }
  return seconds;
}

}  // namespace vkformer
