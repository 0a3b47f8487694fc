#include "models/generation/drafter.h"

#include <algorithm>
#include <cmath>

#include "runtime/check.h"

namespace vkformer {

std::vector<int32_t> LookupDrafter::draft(std::span<const int32_t> text, size_t most) {
  size_t best = 0, begin = 0;
  for (size_t end = text.size() - 1; end > best && best < most_compared; --end) {
    size_t same = 0;
    while (same < std::min(end, most_compared) && text[end - 1 - same] == text[text.size() - 1 - same]) ++same;
    if (same > best) best = same, begin = end;
  }
  std::vector<int32_t> tokens;
  if (best < least_compared) return tokens;
  // Behind the text's end what repeats itself goes on with what was guessed.
  for (size_t i = begin; tokens.size() < most; ++i)
    tokens.push_back(i < text.size() ? text[i] : tokens[i - text.size()]);
  return tokens;
}

GeneratorShape ModelDrafter::shape(int64_t capacity, int64_t usable, std::optional<DType> cache_type) {
  return {.capacity = capacity, .choices = 1, .usable = usable, .log_probabilities = true, .cache_type = cache_type};
}

ModelDrafter::ModelDrafter(Backend& backend, const Model& model, std::shared_ptr<Store> weights,
                           const GeneratorShape& shape)
    : generator_(backend, model, std::move(weights), shape), session_(generator_), vocabulary_(model.vocabulary) {
  check(!model.recurrent, "a {} model keeps states, which can't go back to where a guess failed; it can't draft",
        model.family);
}

std::vector<int32_t> ModelDrafter::draft(std::span<const int32_t> text, size_t most) {
  std::vector<int32_t> tokens;
  const auto unknown = [this](int32_t token) { return token >= vocabulary_; };
  if (std::ssize(text) + static_cast<int64_t>(most) > generator_.capacity() || std::ranges::any_of(text, unknown))
    return tokens;
  std::vector<float> logits = session_.begin(text);
  while (true) {
    int32_t token = 0;
    double log_probability = 0;
    if (const auto choices = generator_.choices(); !choices.empty()) {
      token = choices.front();
      log_probability = static_cast<double>(logits.front());
    } else {
      const auto usable = std::span(logits).first(static_cast<size_t>(generator_.shape().usable));
      const auto best = std::ranges::max_element(usable);
      token = static_cast<int32_t>(best - usable.begin());
      double sum = 0;
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit - *best));
      log_probability = -std::log(sum);
    }
    if (!(log_probability >= std::log(least_probability))) return tokens;
    tokens.push_back(token);
    if (tokens.size() == most) return tokens;
    logits = session_.append(token);
  }
}

}  // namespace vkformer
