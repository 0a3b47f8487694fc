#include "models/text/vocabulary.h"

#include <utility>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
Vocabulary::Vocabulary(Kind kind, std::vector<std::string> pieces) : kind_(kind), pieces_(std::move(pieces)) {
  ids_of_low_.fill(-1);
  for (int32_t id = 0; id < size(); ++id) {
    const std::string& piece = pieces_[static_cast<size_t>(id)];
    const char32_t symbol = kind_ == Kind::bytes ? static_cast<uint8_t>(piece[0]) : read_utf8(piece, 0).code_point;
    if (symbol < ids_of_low_.size()) {
      ids_of_low_[symbol] = id;
    } else {
      ids_of_high_.emplace(symbol, id);
    }
  }
}

Vocabulary Vocabulary::characters(std::string_view text, const std::string& name) {
  check(!text.empty(), "{} is empty; a vocabulary of characters needs some", name);
  std::vector<bool> seen(0x110000);
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (!step.valid)
      fail("{} is not UTF-8: byte {} is 0x{:02X}; {}, or use --bytes for any kind of file", name, at,
           static_cast<uint8_t>(text[at]), way_to_utf8(text));
    seen[step.code_point] = true;
    at += step.length;
  }
  std::vector<std::string> pieces;
  for (char32_t c = 0; c < seen.size(); ++c)
    if (seen[c]) append_utf8(pieces.emplace_back(), c);
  return {Kind::characters, std::move(pieces)};
}

Vocabulary Vocabulary::bytes() {
  std::vector<std::string> pieces;
  for (int byte = 0; byte < 256; ++byte) pieces.emplace_back(1, static_cast<char>(byte));
  return {Kind::bytes, std::move(pieces)};
}

std::vector<int32_t> Vocabulary::encode(std::string_view text, const std::string& name) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size());
  if (kind_ == Kind::bytes) {
    for (const char c : text) ids.push_back(ids_of_low_[static_cast<uint8_t>(c)]);
    return ids;
  }
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (!step.valid)
      fail("{} is not UTF-8: byte {} is 0x{:02X}; {}, or train a model with --bytes", name, at,
           static_cast<uint8_t>(text[at]), way_to_utf8(text));
    int32_t id = -1;
    if (step.code_point < ids_of_low_.size()) {
      id = ids_of_low_[step.code_point];
    } else if (const auto found = ids_of_high_.find(step.code_point); found != ids_of_high_.end()) {
      id = found->second;
    }
    if (id < 0)
      fail(
          "{} has {} (U+{:04X}) as character {} (byte {}), which is not among the {} characters the model knows; "
          "remove it, or train with a text that has it or with --bytes",
          name, in_quotes(text.substr(at, step.length)), static_cast<uint32_t>(step.code_point), ids.size() + 1, at,
          size());
    ids.push_back(id);
    at += step.length;
  }
  return ids;
}

std::string_view Vocabulary::piece(int32_t id) const {
  if (id < 0 || id >= size())
    fail("id {} is outside the vocabulary of {}; check that the tokenizer belongs to the model", id, size());
  return pieces_[static_cast<size_t>(id)];
}

std::string Vocabulary::decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += piece(id);
  return text;
}

std::string StreamDecoder::push(int32_t id) {
  pending_ += vocabulary_.piece(id);
  std::string text;
  size_t at = 0;
  while (at < pending_.size()) {
    const Utf8Step step = read_utf8(pending_, at);
    if (step.incomplete) break;
    text += step.valid ? std::string_view(pending_).substr(at, step.length) : replacement_character;
    at += step.length;
  }
  pending_.erase(0, at);
  return text;
}

std::string StreamDecoder::finish() {
  return std::exchange(pending_, {}).empty() ? std::string() : std::string(replacement_character);
}

}  // namespace vkformer
