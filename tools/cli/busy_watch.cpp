#include "tools/cli/busy_watch.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "runtime/host/streams.h"
#include "runtime/pipeline_log.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace vkformer {

BusyWatch::BusyWatch(std::function<std::string()> told) : told_(std::move(told)) {
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // Where no more threads are to be had nobody is told.
  }
}

BusyWatch::~BusyWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void BusyWatch::watch() {
  const double start = now();
  double next = 5;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::duration<double>(start + next - now()), [this] { return stopping_; })) {
    const double elapsed = now() - start;
    next = elapsed + std::clamp(elapsed, 5.0, 60.0);
    const std::string text = told_();
    if (text.empty()) continue;
    if (host::is_terminal(host::Stream::messages)) say_text("\r\033[K");  // over a bar
    say("... {}, {} so far", text, clock_text(elapsed));
  }
}

std::function<std::string()> compiled_kernels() {
  return [made_before = size_t{0}]() mutable {
    const PipelineCounts counts = pipeline_counts();
    const bool compiles = counts.made < counts.all && counts.made > made_before;
    made_before = counts.made;
    return !compiles ? std::string()
                     : fmt::format("the driver compiles kernels, once for this device: {} of {} done", counts.made,
                                   counts.all);
  };
}

}  // namespace vkformer
