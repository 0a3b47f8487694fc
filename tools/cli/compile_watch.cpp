#include "tools/cli/compile_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "runtime/pipeline_log.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace vkformer {

CompileWatch::CompileWatch() {
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // Where no more threads are to be had nobody is told.
  }
}

CompileWatch::~CompileWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void CompileWatch::watch() {
  const double start = now();
  double next = 5;
  size_t made_before = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::duration<double>(start + next - now()), [this] { return stopping_; })) {
    const double elapsed = now() - start;
    next = elapsed + std::clamp(elapsed, 5.0, 60.0);
    const PipelineCounts counts = pipeline_counts();
    const bool compiles = counts.made < counts.all && counts.made > made_before;
    made_before = counts.made;
    if (!compiles) continue;
    say("{}... the driver compiles kernels, once for this device: {} of {} done, {} so far",
        isatty(STDERR_FILENO) ? "\r\033[K" : "", counts.made, counts.all, clock_text(elapsed));
  }
}

}  // namespace vkformer
