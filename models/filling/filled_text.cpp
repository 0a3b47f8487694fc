#include "models/filling/filled_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"

namespace vkformer {

void add_masked_text(TokenTexts& texts, const std::string& text, const Tokenizer& tokenizer, int32_t mask,
                     const Model& model, const std::string& place) {
  const std::string_view token = *tokenizer.token_of(mask);
  texts.add(tokenizer, text, {}, model.context, place);
  check(texts.cut == 0, "{} has more tokens than the model's {}; shorten it", place, model.context);
  check(std::ranges::count(texts.ids.back(), mask) > 0, "{} has no {}; write {} where a word is to be found", place,
        token, token);
}

FilledText::FilledText(const Tokenizer& tokenizer, const std::string& text, int32_t mask,
                       const MaskCandidates& candidates)
    : tokenizer_(tokenizer), given_(text), candidates_(candidates), ids_(tokenizer.encode(text, false).ids) {
  for (size_t i = 0; i < ids_.size(); ++i)
    if (ids_[i] == mask) places_.push_back(i);
  for (size_t place = 0; place < candidates.size(); ++place) ids_[places_[place]] = candidates[place].front().id;
}

nlohmann::json FilledText::json() const {
  nlohmann::json json = {{"text", given_}, {"filled", text()}};
  for (size_t place = 0; place < candidates_.size(); ++place) {
    auto list = nlohmann::json::array();
    for (const WordCandidate& word : candidates_[place]) {
      FilledText other = *this;
      other.ids_[places_[place]] = word.id;
      list.push_back({{"token", tokenizer_.token_of(word.id).value_or("")},
                      {"id", word.id},
                      {"probability", word.probability},
                      {"filled", other.text()}});
    }
    json["masks"].push_back(std::move(list));
  }
  return json;
}

}  // namespace vkformer
