#pragma once
// What may come next, by what has come.

#include <cstdint>
#include <span>

namespace vkformer {

class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  /// Gives minus infinity to the scores [V] of the tokens that may not follow `generated`, all tokens behind the
  /// prompt. Threads may call it at a time. Throws Error.
  virtual void restrict_scores(std::span<const int32_t> generated, std::span<double> scores) const = 0;
  /// Whether `generated` may be all.
  virtual bool is_whole(std::span<const int32_t> generated) const = 0;
};

}  // namespace vkformer
