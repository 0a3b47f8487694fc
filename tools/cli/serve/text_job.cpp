#include "tools/cli/serve/text_job.h"

#include <algorithm>

#include "runtime/check.h"

namespace vkformer {

std::optional<TextMail::Piece> TextMail::next(const std::function<bool()>& gone) {
  using Clock = std::chrono::steady_clock;
  constexpr auto between_looks = std::chrono::milliseconds(200);
  constexpr auto patience = std::chrono::seconds(5);
  const Clock::time_point begin = Clock::now();
  std::unique_lock lock(mutex_);
  while (true) {
    const bool more = changed_.wait_for(lock, between_looks, [&] { return left_ == 0 || !pieces_.empty(); });
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

TextReplyEnd TextMail::end(size_t answer) const {
  const std::lock_guard lock(mutex_);
  check(failures_[answer].empty(), "{}", failures_[answer]);
  return ends_[answer];
}

void TextMail::write(Piece piece) {
  const std::lock_guard lock(mutex_);
  if (ended_[piece.answer]) return;
  // What nobody took yet grows together.
  if (!pieces_.empty() && pieces_.back().answer == piece.answer && pieces_.back().thought == piece.thought) {
    pieces_.back().text += piece.text;
    std::ranges::move(piece.tokens, std::back_inserter(pieces_.back().tokens));
  } else {
    pieces_.push_back(std::move(piece));
  }
  changed_.notify_one();
}

void TextMail::finish(size_t answer, const TextReplyEnd& end, const std::string& failure) {
  const std::lock_guard lock(mutex_);
  if (ended_[answer]) return;  // what failed is finished, too
  ended_[answer] = true;
  ends_[answer] = end;
  failures_[answer] = failure;
  pieces_.push_back({.answer = answer, .last = true});
  --left_;
  changed_.notify_one();
}

}  // namespace vkformer
