#pragma once
// One sequence that is continued, changed and continued again: what a Generator has run of it is not run twice.

#include "models/generation/generation.h"

namespace vkformer {

class GenerationSession {
 public:
  /// `generator`: of one row; must outlive this object, which alone uses it.
  explicit GenerationSession(Generator& generator) : generator_(generator) {}

  /// Goes on from `ids`, and gives the logits after the last of them. Tokens that they begin with, and that were run
  /// the last time, stay in the cache, of a model with states only where they are all that was run; at least the last
  /// one is run. Throws Error like Generator::append().
  std::vector<float> begin(std::span<const int32_t> ids);
  /// Appends one token and gives the logits after it. Throws Error like Generator::rewind() behind a run that failed.
  std::vector<float> append(int32_t token);
  /// Appends some tokens in one run and gives the logits after each, see Generator::extend().
  std::vector<float> extend(std::span<const int32_t> tokens);
  /// As if only the first `count` tokens had been run.
  void keep(size_t count) { ids_.resize(std::min(count, ids_.size())); }
  /// Goes on with these tokens from the end of what is in the cache, see Generator::score().
  TokenScores score(std::span<const int32_t> tokens, std::span<const int32_t> next, int64_t likeliest);
  /// Another program appends a token to the cache: before its run, and once it has done so.
  void will_append();
  void was_appended(int32_t token) { ids_.push_back(token); }

  /// Of such ids, how many begin() would not run.
  size_t kept(std::span<const int32_t> ids) const;
  /// As if nothing had been run.
  void clear() { ids_.clear(); }

  /// What is in the cache.
  std::span<const int32_t> ids() const { return ids_; }
  /// Tokens that the last begin() did not run.
  int64_t reused() const { return reused_; }

 private:
  Generator& generator_;
  std::vector<int32_t> ids_;
  int64_t reused_ = 0;
};

}  // namespace vkformer
