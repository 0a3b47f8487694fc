// Vocabularies as Hugging Face tokenizer.json files.
//
// Both forms are a BPE model without merges, so that every symbol stays a token of its own. Characters: the symbols are
// the text's code points, untouched by any normalizer or pre-tokenizer; the decoder is "Fuse", because without a
// decoder the library would join tokens with blanks. Bytes: the ByteLevel pre-tokenizer turns each byte into one
// character of GPT-2's alphabet, and the ByteLevel decoder turns it back.

#include <nlohmann/json.hpp>

#include "models/text/byte_alphabet.h"
#include "models/text/tokenizer_files.h"
#include "models/text/vocabulary.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void not_supported(const std::string& name, std::string_view what) {
  fail("{}: this tokenizer has {}, which is not supported yet; models trained by vkformer use characters or bytes",
       name, what);
}

/// The "type" of a part such as the decoder; empty when there is no such part.
std::string type_of(const JsonObject& tokenizer, std::string_view part) {
  return tokenizer.has(part) ? require_string(require_object(tokenizer, part), "type") : std::string();
}

/// Refuses what would make the tokenizers library split a text in another way than into single symbols.
void check_model(const JsonObject& tokenizer) {
  const std::string& name = tokenizer.name();
  const JsonObject model = require_object(tokenizer, "model");
  if (const std::string type = require_string(model, "type"); type != "BPE")
    not_supported(name, fmt::format("a model of type {}", in_quotes(type)));
  if (model.has("merges") && !model.value()["merges"].empty()) not_supported(name, "merges (sub-word tokens)");
  if (tokenizer.has("added_tokens") && !tokenizer.value()["added_tokens"].empty()) not_supported(name, "added tokens");
  if (tokenizer.has("normalizer")) not_supported(name, "a normalizer");
  for (const char* field : {"unk_token", "continuing_subword_prefix", "end_of_word_suffix"})
    if (!string_or(model, field, "").empty()) not_supported(name, field);
  if (boolean_or(model, "byte_fallback", false)) not_supported(name, "byte_fallback");
  if (const std::string type = type_of(tokenizer, "post_processor"); !type.empty() && type != "ByteLevel")
    not_supported(name, fmt::format("a post-processor of type {}", in_quotes(type)));
}

Vocabulary::Kind kind_of(const JsonObject& tokenizer) {
  const std::string pre_tokenizer = type_of(tokenizer, "pre_tokenizer");
  const std::string decoder = type_of(tokenizer, "decoder");
  if (pre_tokenizer.empty() && decoder == "Fuse") return Vocabulary::Kind::characters;
  if (pre_tokenizer == "ByteLevel" && decoder == "ByteLevel") {
    if (require_boolean(require_object(tokenizer, "pre_tokenizer"), "add_prefix_space"))
      not_supported(tokenizer.name(), "add_prefix_space");
    return Vocabulary::Kind::bytes;
  }
  not_supported(tokenizer.name(),
                fmt::format("the pre-tokenizer {} with the decoder {}", in_quotes(pre_tokenizer), in_quotes(decoder)));
}

/// The byte that a character of GPT-2's alphabet stands for, or -1.
int byte_of(char32_t character) {
  static constexpr auto alphabet = byte_alphabet();
  for (int byte = 0; byte < 256; ++byte)
    if (alphabet[static_cast<size_t>(byte)] == character) return byte;
  return -1;
}

/// The symbol behind one key of the vocabulary.
std::string piece_of(const std::string& token, Vocabulary::Kind kind, const std::string& name) {
  const bool single = !token.empty() && read_utf8(token, 0).length == token.size();
  if (!single) not_supported(name, fmt::format("the token {} (not one character)", in_quotes(token)));
  if (kind == Vocabulary::Kind::characters) return token;
  const int byte = byte_of(read_utf8(token, 0).code_point);
  if (byte < 0) not_supported(name, fmt::format("the token {} (which stands for no byte)", in_quotes(token)));
  return std::string(1, static_cast<char>(byte));
}

}  // namespace

Vocabulary Vocabulary::parse(std::string_view text, const std::string& name) {
  return from(JsonObject::parse(text, name));
}

Vocabulary Vocabulary::load(const std::filesystem::path& path) { return from(JsonObject::load(path)); }

bool Vocabulary::is_one(const JsonObject& tokenizer) {
  const auto empty = [](const JsonObject& object, const char* key) {
    return !object.has(key) || object.value()[key].empty();
  };
  const std::string pre_tokenizer = type_of(tokenizer, "pre_tokenizer"), decoder = type_of(tokenizer, "decoder");
  const bool symbols =
      (pre_tokenizer.empty() && decoder == "Fuse") || (pre_tokenizer == "ByteLevel" && decoder == "ByteLevel");
  return symbols && empty(tokenizer, "added_tokens") && !tokenizer.has("normalizer") && tokenizer.has("model") &&
         empty(require_object(tokenizer, "model"), "merges");
}

Vocabulary Vocabulary::from(const JsonObject& tokenizer) {
  check_model(tokenizer);
  const Kind kind = kind_of(tokenizer);
  const JsonObject vocab = require_object(require_object(tokenizer, "model"), "vocab");
  const size_t size = vocab.value().size();
  check(size > 0, "{}: the vocabulary is empty; the file is damaged", tokenizer.name());
  if (kind == Kind::bytes)
    check(size == 256, "{}: has {} of the 256 bytes; the file is damaged", tokenizer.name(), size);
  std::vector<std::string> pieces(size);
  for (const auto& [token, id] : vocab.value().items()) {
    const std::string place = in_quotes(token);
    check(id.is_number_unsigned() && id.get<uint64_t>() < size,
          "{}: the id of token {} is not from 0 to {}; ids must have no gaps", tokenizer.name(), place, size - 1);
    std::string& piece = pieces[id.get<size_t>()];
    check(piece.empty(), "{}: tokens {} and {} have one id; the file is damaged", tokenizer.name(), in_quotes(piece),
          place);
    piece = piece_of(token, kind, tokenizer.name());
  }
  return {kind, std::move(pieces)};
}

std::string Vocabulary::to_json() const {
  constexpr auto alphabet = byte_alphabet();
  ordered_json vocab = ordered_json::object();
  auto& entries = vocab.get_ref<ordered_json::object_t&>();
  for (int32_t id = 0; id < size(); ++id) {
    std::string token(piece(id));
    if (kind_ == Kind::bytes) {
      const auto byte = static_cast<uint8_t>(token[0]);
      token.clear();
      append_utf8(token, alphabet[byte]);
    }
    entries.push_back({std::move(token), id});  // straight to the end: looking for equal keys would take quadratic time
  }
  const ordered_json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
  const bool of_bytes = kind_ == Kind::bytes;
  const ordered_json tokenizer = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", ordered_json::array()},
      {"normalizer", nullptr},
      {"pre_tokenizer", of_bytes ? byte_level : ordered_json()},
      {"post_processor", nullptr},
      {"decoder", of_bytes ? byte_level : ordered_json{{"type", "Fuse"}}},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"ignore_merges", false},
        {"vocab", std::move(vocab)},
        {"merges", ordered_json::array()}}},
  };
  return tokenizer.dump(2) + '\n';
}

void Vocabulary::save(const std::filesystem::path& folder) const {
  write_tokenizer_files(folder, to_json(), ordered_json::object());
}

}  // namespace vkformer
