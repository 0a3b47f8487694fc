#include "tools/cli/serve/text_job.h"

#include <chrono>

#include "runtime/check.h"

namespace vkformer {

std::optional<TextJob::Piece> TextJob::next(const std::function<bool()>& gone) {
  constexpr auto between_looks = std::chrono::milliseconds(200);
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, between_looks, [&] { return over_ || !pieces_.empty(); })) {
    if (!gone()) continue;
    cancel();
    return std::nullopt;
  }
  if (pieces_.empty()) return std::nullopt;
  Piece piece = std::move(pieces_.front());
  pieces_.pop_front();
  return piece;
}

TextReplyEnd TextJob::end() const {
  const std::lock_guard lock(mutex_);
  check(failure_.empty(), "{}", failure_);
  return end_;
}

void TextJob::write(const std::string& text, bool thought) {
  const std::lock_guard lock(mutex_);
  // What nobody took yet grows together.
  if (!pieces_.empty() && pieces_.back().thought == thought)
    pieces_.back().text += text;
  else
    pieces_.push_back({text, thought});
  changed_.notify_one();
}

void TextJob::finish(const TextReplyEnd& end) {
  const std::lock_guard lock(mutex_);
  end_ = end;
  over_ = true;
  changed_.notify_one();
}

void TextJob::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  failure_ = why;
  over_ = true;
  changed_.notify_one();
}

}  // namespace vkformer
