#pragma once
// Answers that a grammar makes, and no others.

#include <functional>

#include "models/chat/answer_parts.h"
#include "models/constraint/grammar_tokens.h"
#include "models/generation/token_constraint.h"

namespace vkformer {

class GrammarConstraint final : public TokenConstraint {
 public:
  /// Tells of the parts of a new answer; empty: all of it is the answer. Thoughts, and what names parts, are free.
  using MakeParts = std::function<std::unique_ptr<AnswerParts>()>;

  /// `ends`: the ids that end an answer: they come where the grammar's text may end, and nowhere else. `begins_text`:
  /// nothing that shows is before the answer.
  GrammarConstraint(std::shared_ptr<GrammarTokens> grammar, std::vector<int32_t> ends, bool begins_text,
                    MakeParts make_parts = {});

  /// Behind a whole text of the grammar comes an end id, or where there is none nothing.
  void restrict_scores(std::span<const int32_t> generated, std::span<double> scores) const override;
  bool is_whole(std::span<const int32_t> generated) const override;

 private:
  /// The answer's tokens; nothing while what comes next is none of them.
  std::optional<std::vector<int32_t>> answer_of(std::span<const int32_t> generated) const;

  std::shared_ptr<GrammarTokens> grammar_;
  std::vector<int32_t> ends_;
  bool begins_text_;
  MakeParts make_parts_;
};

}  // namespace vkformer
