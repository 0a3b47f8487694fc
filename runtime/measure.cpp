#include "runtime/measure.h"

namespace vkformer {

namespace {

constexpr double busy_seconds = 0.02;
constexpr int most_runs = 2000;  ///< of a program that takes no time

}  // namespace

void warm_up(Program& program, int runs) {
  const double before = program.counters().seconds;
  for (int run = 0; run < most_runs && (run < runs || program.counters().seconds - before < busy_seconds); ++run)
    program.run();
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
