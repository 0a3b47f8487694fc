#include "tools/cli/compile_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "runtime/pipeline_log.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace vkformer {

CompileWatch::CompileWatch() : thread_([this] { watch(); }) {}

CompileWatch::~CompileWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CompileWatch::watch() {
  const double start = now();
  double next = 5;
  size_t done_before = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::duration<double>(start + next - now()), [this] { return stopping_; })) {
    const double elapsed = now() - start;
    next = elapsed + std::clamp(elapsed, 5.0, 60.0);
    const std::vector<PipelineRecord> all = pipeline_log();
    const auto done = static_cast<size_t>(std::ranges::count_if(
        all, [](const PipelineRecord& record) { return record.seconds > 0 || !record.failure.empty(); }));
    const bool compiles = done < all.size() && done > done_before;
    done_before = done;
    if (!compiles) continue;
    say("{}... the driver compiles kernels, once for this device: {} of {} done, {} so far",
        isatty(STDERR_FILENO) ? "\r\033[K" : "", done, all.size(), clock_text(elapsed));
  }
}

}  // namespace vkformer
