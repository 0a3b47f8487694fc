#include "models/generation/speculation.h"

#include <algorithm>
#include <bit>

#include "runtime/check.h"

namespace vkformer {

Speculation::Speculation(Generator& generator, GenerationSession& session, Drafter* drafter, size_t most)
    : generator_(generator), session_(session), drafter_(drafter), most_(most) {
  check(!drafter || generator.can_rewind(), "this model keeps states, which can't go back to where a guess failed");
  if (drafter) generator.run_ahead(false);  // in vain before each guess
}

std::optional<int32_t> Speculation::step(std::span<const int32_t> text, const Choose& choose) {
  const size_t before = session_.ids().size(), room = static_cast<size_t>(generator_.capacity()) - before;
  const size_t most = std::min(most_, std::max<size_t>(std::bit_floor(room), 1) - 1);
  const std::vector<int32_t> guesses = drafter_ && most > 0 ? drafter_->draft(text, most) : std::vector<int32_t>();
  if (guesses.empty()) {
    const std::vector<float> logits = session_.append(text.back());
    return choose(logits, generator_.choices());
  }
  std::vector<int32_t> tokens{text.back()};
  tokens.insert(tokens.end(), guesses.begin(), guesses.end());
  const std::vector<float> logits = session_.extend(tokens);
  const auto row = [&](const auto& rows, size_t i) {
    const size_t columns = rows.size() / tokens.size();
    return std::span(rows).subspan(i * columns, columns);
  };
  guessed_ += std::ssize(guesses);
  size_t held = 0;
  auto token = choose(row(logits, 0), row(generator_.choices(), 0));
  while (token && held < guesses.size() && *token == guesses[held]) {
    ++held_;
    ++held;
    token = choose(row(logits, held), row(generator_.choices(), held));
  }
  session_.keep(before + 1 + held);
  return token;
}

}  // namespace vkformer
