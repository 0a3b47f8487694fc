#include "models/generation/session.h"

#include <algorithm>

#include "runtime/check.h"

namespace vkformer {

size_t GenerationSession::kept(std::span<const int32_t> ids) const {
  const auto same = static_cast<size_t>(std::ranges::mismatch(ids, ids_).in1 - ids.begin());
  const size_t whole = generator_.cut(ids, std::min(same, ids.size() - 1));
  return static_cast<size_t>(generator_.kept(static_cast<int64_t>(whole)));
}

std::vector<float> GenerationSession::begin(std::span<const int32_t> ids) {
  check(!ids.empty(), "the prompt is empty; give at least one token");
  const size_t same = kept(ids);
  reused_ = static_cast<int64_t>(same);
  ids_.resize(same);
  generator_.rewind(reused_);
  std::vector<float> logits = generator_.append(ids.subspan(same));
  ids_.assign(ids.begin(), ids.end());
  return logits;
}

TokenScores GenerationSession::score(std::span<const int32_t> tokens, std::span<const int32_t> next,
                                     int64_t likeliest) {
  generator_.rewind(std::ssize(ids_));
  TokenScores scores = generator_.score(tokens, next, likeliest);
  ids_.insert(ids_.end(), tokens.begin(), tokens.end());
  return scores;
}

std::vector<float> GenerationSession::extend(std::span<const int32_t> tokens) {
  generator_.rewind(std::ssize(ids_));
  std::vector<float> logits = generator_.extend(tokens);
  ids_.insert(ids_.end(), tokens.begin(), tokens.end());
  return logits;
}

void GenerationSession::will_append() {
  generator_.rewind(std::ssize(ids_));
  generator_.skip_one();
}

std::vector<float> GenerationSession::append(int32_t token) {
  generator_.rewind(std::ssize(ids_));
  std::vector<float> logits = generator_.decode(token);
  ids_.push_back(token);
  return logits;
}

}  // namespace vkformer
