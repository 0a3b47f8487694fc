#include "models/text/prompt_text.h"

#include <algorithm>

#include "models/model_files.h"
#include "models/text/sentinels.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

PromptText::PromptText(const std::filesystem::path& folder, const std::string& language)
    : PromptText(load_model_json(folder, "tokenizer.json"), language) {
  if (has_model_json(folder, target_tokenizer_file))
    target_ = std::make_shared<PromptText>(PromptText(load_model_json(folder, target_tokenizer_file), ""));
}

PromptText::PromptText(const JsonObject& file, const std::string& language) : languages_(file) {
  if (Vocabulary::is_one(file))
    vocabulary_ = Vocabulary::from(file);
  else
    tokenizer_.emplace(language.empty() ? file : languages_->tokenizer_of(file, languages_->find(language)));
}

std::vector<int32_t> PromptText::encode(std::string_view prompt) const {
  std::vector<int32_t> ids = vocabulary_ ? vocabulary_->encode(prompt) : tokenizer_->encode(prompt).ids;
  check(!ids.empty(), "the prompt is empty; give at least one character");
  return ids;
}

std::vector<int32_t> PromptText::encode_within(int64_t most, std::string_view prompt) const {
  if (tokenizer_) return tokenizer_->encode_within(most, prompt).encoding.ids;
  std::vector<int32_t> ids = encode(prompt);
  ids.resize(std::min(ids.size(), static_cast<size_t>(most)));
  return ids;
}

Encoding PromptText::encode_line(std::string_view line, bool special) const {
  if (tokenizer_) return tokenizer_->encode(line, special);
  Encoding encoding{.ids = vocabulary_->encode(line)};
  for (const int32_t id : encoding.ids) encoding.tokens.push_back(piece(id));
  return encoding;
}

std::vector<int32_t> PromptText::encode_as_it_is(std::string_view text) const {
  return vocabulary_ ? vocabulary_->encode(text) : tokenizer_->encode(text, false).ids;
}

std::optional<int32_t> PromptText::id_of(std::string_view token) const {
  return tokenizer_ ? tokenizer_->id_of(token) : std::nullopt;
}

std::optional<int32_t> PromptText::special_id(std::string_view token) const {
  const auto id = id_of(token);
  return id && is_special(*id) ? id : std::nullopt;
}

bool PromptText::is_special(int32_t id) const { return tokenizer_ && tokenizer_->special_ids().contains(id); }

Encoding PromptText::encode_pair(std::string_view first, std::string_view second) const {
  check(tokenizer_.has_value(), "a vocabulary of characters or bytes has no pairs of texts; give one text");
  return tokenizer_->encode_pair(first, second);
}

std::string PromptText::decode(std::span<const int32_t> ids) const {
  return vocabulary_ ? valid_utf8(vocabulary_->decode(ids)) : decode_with_sentinels(*tokenizer_, ids);
}

std::string PromptText::decode_all(std::span<const int32_t> ids) const {
  return vocabulary_ ? decode(ids) : tokenizer_->decode(ids, false);
}

std::vector<int32_t> PromptText::ends_beside(std::span<const int32_t> source) const {
  return tokenizer_ ? sentinels_beyond(*tokenizer_, source) : std::vector<int32_t>();
}

std::string PromptText::piece(int32_t id) const {
  constexpr std::string_view space_sign = "\xE2\x96\x81";
  if (id >= size()) return {};
  const std::string token(vocabulary_ ? vocabulary_->piece(id) : tokenizer_->token_of(id).value_or(""));
  // Tokens of bytes are written in an alphabet of their own, which is ASCII where the bytes are.
  const bool readable = token.starts_with(space_sign) ||
                        std::ranges::all_of(token, [](char c) { return static_cast<uint8_t>(c) < 0x80; });
  const std::string text = readable ? token : vocabulary_ ? valid_utf8(token) : tokenizer_->decode({&id, 1}, false);
  std::string shown;
  for (const char c : text.empty() ? token : text) {
    if (c == ' ')
      shown += space_sign;
    else
      shown += c;
  }
  return printable(shown);
}

std::optional<std::string> PromptText::bytes_of(int32_t id) const {
  if (id >= size()) return std::nullopt;
  return vocabulary_ ? std::optional(std::string(vocabulary_->piece(id))) : tokenizer_->bytes_of(id);
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
