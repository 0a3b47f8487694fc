#include "models/constraint/grammar_tokens.h"

namespace vkformer {

namespace {

// Between steps what is known is forgotten beyond these.
constexpr size_t most_state_bytes = size_t{32} << 20, most_allowed_bits = 160'000'000;

}  // namespace

GrammarTokens::GrammarTokens(Grammar grammar, std::shared_ptr<const TokenBytes> tokens)
    : tokens_(std::move(tokens)), states_(std::move(grammar)) {}

/// Empty for a token that adds none.
std::string_view GrammarTokens::text_of(int32_t id, bool drops_blank) const {
  std::string_view text = tokens_->find(id).value_or("");
  if (drops_blank && text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

const GrammarTokens::Allowed& GrammarTokens::allowed(State state) {
  if (const auto found = allowed_.find(state); found != allowed_.end()) return found->second;
  Allowed tokens(tokens_->size());
  tokens_->walk(
      state, GrammarStates::nowhere, [this](State from, uint8_t byte) { return states_.next(from, byte); },
      [&](int32_t id) { tokens[static_cast<size_t>(id)] = true; });
  return allowed_.emplace(state, std::move(tokens)).first->second;
}

const GrammarTokens::Allowed& GrammarTokens::allowed_first() {
  if (allowed_first_) return *allowed_first_;
  Allowed tokens(tokens_->size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view text = text_of(static_cast<int32_t>(id), true);
    tokens[id] = !text.empty() && states_.next(states_.start(), text) != GrammarStates::nowhere;
  }
  return allowed_first_.emplace(std::move(tokens));
}

GrammarTokens::Next GrammarTokens::next_of(std::span<const int32_t> answer, bool drops_blank) {
  if (states_.bytes() > most_state_bytes || allowed_.size() * tokens_->size() > most_allowed_bits) {
    states_.forget();
    allowed_.clear();
    allowed_first_.reset();
  }
  State state = states_.start();
  for (size_t i = 0; i < answer.size(); ++i) {
    const std::string_view text = text_of(answer[i], drops_blank && i == 0);
    state = text.empty() ? GrammarStates::nowhere : states_.next(state, text);
  }
  static const Allowed none;
  if (state == GrammarStates::nowhere) return {none, false};
  return {drops_blank && answer.empty() ? allowed_first() : allowed(state), states_.ends(state)};
}

}  // namespace vkformer
