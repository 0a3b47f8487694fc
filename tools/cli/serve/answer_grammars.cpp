#include "tools/cli/serve/answer_grammars.h"

#include <algorithm>

namespace vkformer {

std::shared_ptr<GrammarTokens> AnswerGrammars::find(const std::string& gbnf) {
  if (auto known = recent(gbnf)) return known;
  std::call_once(tokens_made_, [this] { tokens_ = token_bytes(tokenizer_); });
  // Others need not wait for a large one.
  auto made = std::make_shared<GrammarTokens>(parse_gbnf(gbnf, "the grammar"), tokens_);
  constexpr size_t most = 8;
  const std::lock_guard lock(mutex_);
  recent_.push_front({gbnf, made});
  if (recent_.size() > most) recent_.pop_back();
  return made;
}

std::shared_ptr<GrammarTokens> AnswerGrammars::recent(const std::string& gbnf) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(recent_, gbnf, &Known::gbnf);
  if (found == recent_.end()) return nullptr;
  std::rotate(recent_.begin(), found, found + 1);
  return recent_.front().grammar;
}

}  // namespace vkformer
