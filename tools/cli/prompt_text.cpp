#include "tools/cli/prompt_text.h"

#include "runtime/check.h"

namespace vkformer {

PromptText::PromptText(const std::filesystem::path& folder) {
  const JsonObject file = JsonObject::load(folder / "tokenizer.json");
  if (Vocabulary::is_one(file))
    vocabulary_ = Vocabulary::from(file);
  else
    tokenizer_.emplace(file);
}

std::vector<int32_t> PromptText::encode(std::string_view prompt) const {
  std::vector<int32_t> ids = vocabulary_ ? vocabulary_->encode(prompt) : tokenizer_->encode(prompt).ids;
  check(!ids.empty(), "the prompt is empty; give at least one character with -p");
  return ids;
}

std::string PromptText::decode(std::span<const int32_t> ids) const {
  return vocabulary_ ? valid_utf8(vocabulary_->decode(ids)) : tokenizer_->decode(ids);
}

int64_t PromptText::size() const { return vocabulary_ ? vocabulary_->size() : tokenizer_->size(); }

std::function<std::string(std::optional<int32_t>)> PromptText::stream(std::span<const int32_t> prompt) const {
  const auto through = [](auto decoder) {
    return [decoder](std::optional<int32_t> id) { return id ? decoder->push(*id) : decoder->finish(); };
  };
  if (vocabulary_) return through(std::make_shared<StreamDecoder>(*vocabulary_));
  return through(std::make_shared<TokenStream>(*tokenizer_, prompt));
}

}  // namespace vkformer
