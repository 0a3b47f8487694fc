#pragma once
// A grammar over the tokens of a vocabulary: which tokens may come next.

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "models/constraint/grammar_states.h"
#include "models/constraint/token_bytes.h"

namespace vkformer {

/// What it finds out is kept, so that answers of one kind share it. Threads may use it at a time.
class GrammarTokens {
 public:
  GrammarTokens(Grammar grammar, std::shared_ptr<const TokenBytes> tokens);

  struct Next {
    const std::vector<bool>& tokens;  ///< by id, whether it may come; valid until the next call
    bool may_end = false;             ///< all tokens so far are a text of the grammar
  };
  /// What may come behind these tokens. `begins_text`: the first of them begins a text (see
  /// TokenBytes::drops_first_blank). Calls use() with it. Throws Error like GrammarStates::next().
  template <class Use>
  void next(std::span<const int32_t> answer, bool begins_text, Use use) {
    const std::lock_guard lock(mutex_);
    use(next_of(answer, begins_text && tokens_->drops_first_blank()));
  }

 private:
  using State = GrammarStates::State;
  using Allowed = std::vector<bool>;

  Next next_of(std::span<const int32_t> answer, bool drops_blank);
  std::string_view text_of(int32_t id, bool drops_blank) const;
  const Allowed& allowed(State state);
  const Allowed& allowed_first();

  std::shared_ptr<const TokenBytes> tokens_;
  std::mutex mutex_;
  GrammarStates states_;
  std::map<State, Allowed> allowed_;
  std::optional<Allowed> allowed_first_;  ///< of tokens that lose their blank
};

}  // namespace vkformer
