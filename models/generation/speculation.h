#pragma once
// A text token by token, or several by one run of the model: a drafter guesses, the model runs the guesses beside the
// last token, and those that are what it would have written itself are its tokens (speculative decoding).

#include <functional>

#include "models/generation/drafter.h"

namespace vkformer {

class Speculation {
 public:
  /// All must outlive it; `session`: of `generator`; `drafter`: nullptr where nobody guesses, with one the generator no
  /// longer runs ahead. `most`: guesses in a run.
  /// Throws Error for a model with states, which can't go back to where a guess failed.
  Speculation(Generator& generator, GenerationSession& session, Drafter* drafter, size_t most);

  /// Chooses the token that follows by the logits [V], or by those of `choices`; nothing: the text ends.
  using Choose = std::function<std::optional<int32_t>(std::span<const float> logits, std::span<const int32_t> choices)>;
  /// Runs the last token of `text`, all others of which the session has run, and with it what the drafter guesses;
  /// calls `choose` behind each while the guesses hold, once at least, and gives what that gave last. Every token is
  /// chosen from the logits behind those before it, so a text is what it would be without guesses, up to the rounding
  /// of kernels for one row and for several.
  std::optional<int32_t> step(std::span<const int32_t> text, const Choose& choose);

  int64_t guessed() const { return guessed_; }
  int64_t held() const { return held_; }  ///< of these, but for one that ends the text
  void count_anew() { guessed_ = held_ = 0; }

 private:
  Generator& generator_;
  GenerationSession& session_;
  Drafter* drafter_;
  size_t most_;
  int64_t guessed_ = 0, held_ = 0;
};

}  // namespace vkformer
