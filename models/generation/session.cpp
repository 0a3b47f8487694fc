#include "models/generation/session.h"

#include <algorithm>

#include "runtime/check.h"

namespace vkformer {

std::vector<float> GenerationSession::begin(std::span<const int32_t> ids) {
  check(!ids.empty(), "the prompt is empty; give at least one token");
  const auto same = std::ranges::mismatch(ids, ids_).in1 - ids.begin();
  reused_ = std::min<int64_t>(same, std::ssize(ids) - 1);
  const auto kept = static_cast<size_t>(reused_);
  ids_.resize(kept);
  generator_.rewind(reused_);
  std::vector<float> logits = generator_.append(ids.subspan(kept));
  ids_.assign(ids.begin(), ids.end());
  return logits;
}

std::vector<float> GenerationSession::append(int32_t token) {
  std::vector<float> logits = generator_.decode(token);
  ids_.push_back(token);
  return logits;
}

}  // namespace vkformer
