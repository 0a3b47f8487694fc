#include "tools/cli/progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "runtime/host/streams.h"
#include "tools/cli/output.h"

namespace vkformer {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

Progress::Progress(int64_t total, bool quiet, double patience)
    : total_(total),
      on_(!quiet),
      terminal_(host::is_terminal(host::Stream::messages)),
      started_(now()),
      patience_(patience) {}

void Progress::show(int64_t done, const std::string& text) {
  if (!on_) return;
  const double time = now();
  if (first_ < 0) {
    first_ = done;
    first_time_ = time;
  }
  // The first one has taken what happens once: drivers compile.
  const double begin = done > first_ ? first_time_ : started_;
  const auto counted = static_cast<double>(done > first_ ? done - first_ : 1);
  const double left = (time - begin) / counted * static_cast<double>(total_ - done);
  if (!terminal_) {
    if (time - started_ < next_line_ || done >= total_) return;
    next_line_ = time - started_ + std::min(time - started_, 60.0);
    return say("... {}/{}  {}{}", done, total_, text, done > first_ ? fmt::format("  {} left", clock_text(left)) : "");
  }
  if ((time - last_ < 0.1 && done < total_) || time - started_ < patience_) return;
  last_ = time;
  constexpr int64_t cells = 24;
  const int64_t filled = cells * done / total_;
  say_text(fmt::format("\r\033[K[{}{}] {}/{}  {}  {} left", std::string(static_cast<size_t>(filled), '#'),
                       std::string(static_cast<size_t>(cells - filled), '.'), done, total_, text, clock_text(left)));
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) say_text("\r\033[K");
  drawn_ = false;
}

TextsProgress::TextsProgress(const char* unit, bool quiet)
    : bar_(1, quiet), unit_(unit), quiet_(quiet), start_(now()) {}

void TextsProgress::add(size_t more) {
  done_ += static_cast<int64_t>(more);
  bar_.show(done_, fmt::format("{:.1f} {}/s", static_cast<double>(done_) / seconds(), unit_));
}

void TextsProgress::end(size_t count, const char* noun, const std::string& note) const {
  check_output();
  if (quiet_) return;
  const double seconds = this->seconds();
  say("{} in {:.1f} s: {:.1f} {}s/s{}", counted(static_cast<int64_t>(count), noun), seconds,
      static_cast<double>(count) / seconds, noun, note);
}

}  // namespace vkformer
