#include "models/text/added_tokens.h"

#include <algorithm>

#include "runtime/check.h"

namespace vkformer {

namespace {

/// The character that ends at `end`; valid UTF-8 has at most three bytes to go back over.
char32_t character_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  return read_utf8(text, at).code_point;
}

bool within_word(std::string_view text, const ByteRange& match) {
  return (match.begin > 0 && is_word_character(character_before(text, match.begin))) ||
         (match.end < text.size() && is_word_character(read_utf8(text, match.end).code_point));
}

size_t skip_blanks_back(std::string_view text, size_t at, size_t stop) {
  while (at > stop) {
    const char32_t c = character_before(text, at);
    if (!is_white_space(c)) break;
    std::string bytes;
    append_utf8(bytes, c);
    at -= bytes.size();
  }
  return at;
}

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Step step = read_utf8(text, at);
    if (!is_white_space(step.code_point)) break;
    at += step.length;
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(const JsonObject& tokenizer, const TokenModel& model, const Normalizer& normalizer) {
  if (!tokenizer.has("added_tokens")) return;
  for (const JsonObject& object : require_objects(tokenizer, "added_tokens")) {
    AddedToken token{.id = static_cast<int32_t>(require_integer(object, "id", 0, INT32_MAX - 1)),
                     .content = require_string(object, "content"),
                     .special = boolean_or(object, "special", false)};
    if (token.content.empty()) continue;
    token.normalized = boolean_or(object, "normalized", !token.special);
    token.single_word = boolean_or(object, "single_word", false);
    token.lstrip = boolean_or(object, "lstrip", false);
    token.rstrip = boolean_or(object, "rstrip", false);
    token.id = model.id_of(token.content).value_or(token.id);
    if (token.special) specials_.insert(token.content);
    by_id_[token.id] = std::move(token);
  }
  // Of equal texts the special one is found.
  for (const bool special : {true, false})
    for (auto& [id, token] : by_id_) {
      if (token.special != special) continue;
      TextPart text = whole_text(token.content, false);
      if (token.normalized && normalizer) normalizer(text);
      token.decoded = text.text;
      if (!text.text.empty()) (token.normalized ? normalized_ : raw_)[text.text[0]].emplace_back(text.text, &token);
    }
  for (Wanted* wanted : {&raw_, &normalized_})
    for (auto& [first, tokens] : *wanted)
      std::stable_sort(tokens.begin(), tokens.end(),
                       [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
}

std::vector<FoundPart> AddedTokens::split(const TextPart& part, bool normalized) const {
  const Wanted& wanted = normalized ? normalized_ : raw_;
  const std::string_view text = part.text;
  std::vector<FoundPart> found;
  size_t done = 0;
  const auto add = [&](size_t begin, size_t end, const AddedToken* token) {
    if (begin < end) found.push_back({part.part({begin, end}), token});
  };
  for (size_t at = 0; at < text.size();) {
    const AddedToken* token = nullptr;
    ByteRange match{at, at + 1};
    if (const auto tokens = wanted.find(text[at]); tokens != wanted.end())
      for (const auto& [content, candidate] : tokens->second)
        if (text.substr(at).starts_with(content)) {
          token = candidate;
          match.end = at + content.size();
          break;
        }
    at = match.end;
    if (token == nullptr || (token->single_word && within_word(text, match))) continue;
    if (token->lstrip) match.begin = skip_blanks_back(text, match.begin, done);
    if (token->rstrip) match.end = skip_blanks(text, match.end);
    match.begin = std::max(match.begin, done);
    add(done, match.begin, nullptr);
    add(match.begin, match.end, token);
    done = match.end;
  }
  add(done, text.size(), nullptr);
  return found;
}

const AddedToken* AddedTokens::find(int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

std::optional<int32_t> AddedTokens::id_of(std::string_view content) const {
  const auto found = std::ranges::find(by_id_, content, [](const auto& entry) { return entry.second.content; });
  return found == by_id_.end() ? std::nullopt : std::optional(found->first);
}

std::set<int32_t> AddedTokens::special_ids() const {
  std::set<int32_t> ids;
  for (const auto& [id, token] : by_id_)
    if (token.special) ids.insert(id);
  return ids;
}

}  // namespace vkformer
