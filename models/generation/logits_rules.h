#pragma once
// What may come next: the rules of a GenerationConfig that change a row of scores before a token is chosen, with the
// order and the corner cases of Hugging Face's logits processors.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/generation/generation_config.h"

namespace vkformer {

/// Some tokens and their scores, the best first.
struct ScoredTokens {
  std::vector<int32_t> tokens;
  std::vector<double> scores;
};

class LogitsRules {
 public:
  /// `prompt_length`: the longest prompt of the batch (1 for a decoder's start id). Throws Error when a banned or
  /// forced id is outside the vocabulary. End ids and suppressed ones outside the vocabulary just never come.
  LogitsRules(const GenerationConfig& config, int64_t prompt_length, int64_t vocabulary);

  /// Applies, in this order, to the scores [V] of the token that follows `ids` (prompt or start id, then `generated`
  /// tokens):
  /// - logit_bias is added;
  /// - recent_penalties, over the last of `ids`;
  /// - repetition penalty: the score of each id in `ids` is divided by it if positive, multiplied by it if negative;
  /// - no id that would complete an n-gram which `ids` has already;
  /// - no bad word: a single id never, the last id of a sequence not after its other ids. An end id alone is no bad
  ///   word. A sequence longer than `ids` is not looked for, even where its last id alone is missing;
  /// - no end id before the least number of new tokens;
  /// - the forced first id after a prompt of one id, with score 0;
  /// - a forced end id as the last token that the limit allows, with score 0;
  /// - no suppressed id, forced or not; the ids suppressed at the beginning not as first token, which is the second
  /// where
  ///   the first one is forced;
  /// - what the constraint does not allow, where nothing is forced;
  /// - with renormalize_logits: log-softmax.
  /// Banned ids get minus infinity. Greedy search gives logits, beam search log-probabilities. `most`: this source's
  /// limit of new tokens; 0: the config's.
  void apply(std::span<const int32_t> ids, int64_t generated, std::span<double> scores, int64_t most = 0) const;
  /// The same for the scores of some tokens: those that are forced take their places, those that are banned are left
  /// out. Where most_banned() has a number, that many more than are wanted are enough.
  void apply(std::span<const int32_t> ids, int64_t generated, ScoredTokens& likeliest, int64_t most = 0) const;
  /// Of how many ids below usable() a row's apply() may take the score at most; nothing where it may change scores.
  std::optional<int64_t> most_banned() const;
  /// Whether the tokens behind a prompt may be all, by the constraint.
  bool is_whole(std::span<const int32_t> ids, int64_t generated) const;
  /// Whether apply() never changes anything but that ids from usable() on never come.
  bool none() const;
  /// The ids from this one on are suppressed, all of them: a vocabulary is often padded beyond its tokenizer.
  int64_t usable() const { return usable_; }

 private:
  /// What a constraint is of: the tokens behind the prompt, without a forced first one.
  std::span<const int32_t> constrained(std::span<const int32_t> ids, int64_t generated) const;
  void penalize_recent(std::span<const int32_t> ids, std::span<double> scores) const;
  void penalize_repetition(std::span<const int32_t> ids, std::span<double> scores) const;
  /// The only tokens that may come; empty: any.
  std::span<const int32_t> forced(int64_t generated, int64_t most) const;
  /// Those that may not, forced or not; a token may be there more than once.
  std::vector<int32_t> banned(std::span<const int32_t> ids, int64_t generated, int64_t most) const;
  void add_repeated_ngrams(std::span<const int32_t> ids, std::vector<int32_t>& banned) const;
  void add_bad_words(std::span<const int32_t> ids, std::vector<int32_t>& banned) const;
  /// The first token is forced: after a prompt of one id.
  bool forces_first() const { return config_.forced_bos_token_id && prompt_length_ == 1; }

  GenerationConfig config_;
  int64_t prompt_length_;
  int64_t most_;
  int64_t least_;
  int64_t usable_;
};

}  // namespace vkformer
