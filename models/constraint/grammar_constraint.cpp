#include "models/constraint/grammar_constraint.h"

#include <algorithm>
#include <limits>

namespace vkformer {

namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

}  // namespace

GrammarConstraint::GrammarConstraint(std::shared_ptr<GrammarTokens> grammar, std::vector<int32_t> ends,
                                     bool begins_text, MakeParts make_parts)
    : grammar_(std::move(grammar)),
      ends_(std::move(ends)),
      begins_text_(begins_text),
      make_parts_(std::move(make_parts)) {}

std::optional<std::vector<int32_t>> GrammarConstraint::answer_of(std::span<const int32_t> generated) const {
  std::vector<int32_t> answer(generated.begin(), generated.end());
  if (const std::unique_ptr<AnswerParts> parts = make_parts_ ? make_parts_() : nullptr) {
    std::erase_if(answer, [&](int32_t id) { return parts->take(id) != AnswerPart::answer; });
    if (parts->part() != AnswerPart::answer) return std::nullopt;
  }
  return answer;
}

bool GrammarConstraint::is_whole(std::span<const int32_t> generated) const {
  bool whole = false;
  if (const auto answer = answer_of(generated))
    grammar_->next(*answer, begins_text_, [&](const GrammarTokens::Next& next) { whole = next.may_end; });
  return whole;
}

void GrammarConstraint::restrict_scores(std::span<const int32_t> generated, std::span<double> scores) const {
  const auto is_end = [&](size_t id) { return std::ranges::find(ends_, static_cast<int32_t>(id)) != ends_.end(); };
  const auto keep = [&](auto may_come) {
    for (size_t id = 0; id < scores.size(); ++id)
      if (!may_come(id)) scores[id] = never;
  };
  const auto answer = answer_of(generated);
  if (!answer) return keep([&](size_t id) { return !is_end(id); });
  grammar_->next(*answer, begins_text_, [&](const GrammarTokens::Next& next) {
    keep([&](size_t id) { return is_end(id) ? next.may_end : id < next.tokens.size() && next.tokens[id]; });
  });
}

}  // namespace vkformer
