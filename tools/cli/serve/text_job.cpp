#include "tools/cli/serve/text_job.h"

#include "runtime/check.h"

namespace vkformer {

std::optional<TextJob::Piece> TextJob::next(const std::function<bool()>& gone) {
  using Clock = std::chrono::steady_clock;
  constexpr auto between_looks = std::chrono::milliseconds(200);
  constexpr auto patience = std::chrono::seconds(5);
  const Clock::time_point begin = Clock::now();
  std::unique_lock lock(mutex_);
  while (true) {
    const bool more = changed_.wait_for(lock, between_looks, [&] { return over_ || !pieces_.empty(); });
    if (Clock::now() - looked_ > between_looks) {
      looked_ = Clock::now();
      if (gone()) {
        cancel();
        return std::nullopt;
      }
    }
    if (more) break;
    if (Clock::now() - begin > patience) return Piece{};
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
