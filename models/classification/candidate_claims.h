#pragma once
// What is said of texts when a model of inference tells apart classes that it was not trained on (see entailment.h).

#include "models/data/token_texts.h"

namespace vkformer {

/// The hypothesis of each, the candidate in the place of each {}. Throws UsageError where there is none.
std::vector<std::string> claims_of(const std::string& hypothesis, const std::vector<std::string>& candidates);

class CandidateClaims {
 public:
  /// `hypothesis` with each candidate in the place of its "{}". `most`: positions for a text and a claim. Throws
  /// UsageError for a hypothesis without "{}", and Error for a claim that leaves a text no room.
  CandidateClaims(const std::string& hypothesis, const std::vector<std::string>& candidates, const Tokenizer& tokenizer,
                  int64_t most);

  size_t count() const { return claims_.size(); }
  /// Adds the text with each claim, candidate by candidate; a longer one's end is left out. See TokenTexts::add().
  void add(TokenTexts& texts, std::string_view text, std::string_view place) const;

 private:
  const Tokenizer& tokenizer_;
  int64_t most_;
  std::vector<std::string> claims_;
};

}  // namespace vkformer
