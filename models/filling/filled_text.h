#pragma once
// Texts with masks, and what they are with words in their places.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/filling/masked_words.h"
#include "models/text/tokenizer.h"

namespace vkformer {

/// Adds a text with masks. Throws Error, which begins with `place`, for one without a mask, and for one that is longer
/// than the model's context.
void add_masked_text(TokenTexts& texts, const std::string& text, const Tokenizer& tokenizer, int32_t mask,
                     const Model& model, const std::string& place);

/// A text with each mask filled by the likeliest of its candidates.
class FilledText {
 public:
  FilledText(const Tokenizer& tokenizer, const std::string& text, int32_t mask, const MaskCandidates& candidates);

  /// Also with unknown words and the like.
  std::string text() const { return tokenizer_.decode(ids_, false); }
  /// {"text", "filled", "masks": for each a list of its candidates {"token", "id", "probability", "filled"}}.
  nlohmann::json json() const;

 private:
  const Tokenizer& tokenizer_;
  const std::string& given_;
  const MaskCandidates& candidates_;
  std::vector<int32_t> ids_;
  std::vector<size_t> places_;
};

}  // namespace vkformer
