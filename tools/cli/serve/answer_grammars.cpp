#include "tools/cli/serve/answer_grammars.h"

#include <algorithm>

namespace vkformer {

std::shared_ptr<GrammarTokens> AnswerGrammars::find(const std::string& gbnf) {
  constexpr size_t most = 8;
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(recent_, gbnf, &Known::gbnf);
  if (found != recent_.end()) return found->grammar;
  Grammar grammar = parse_gbnf(gbnf, "the grammar");
  if (!tokens_) tokens_ = token_bytes(tokenizer_);
  recent_.push_front({gbnf, std::make_shared<GrammarTokens>(std::move(grammar), tokens_)});
  if (recent_.size() > most) recent_.pop_back();
  return recent_.front().grammar;
}

}  // namespace vkformer
