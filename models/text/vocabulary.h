#pragma once
// The vocabularies of language models trained here: characters or bytes. Both are kept as a Hugging Face tokenizer.json
// that the `tokenizers` library tokenises and decodes in the same way.

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vkformer {

class JsonObject;

class Vocabulary {
 public:
  enum class Kind : uint8_t { characters, bytes };

  /// The characters (code points) of a UTF-8 text, sorted. Throws Error on an empty text, and on invalid UTF-8 with the
  /// offset of the first wrong byte. `name` is what errors call the text.
  static Vocabulary characters(std::string_view utf8_text, const std::string& name = "the text");
  /// The 256 bytes; any file can be encoded. The id is the byte's value.
  static Vocabulary bytes();
  /// Reads a tokenizer.json that this class wrote, or that says the same. Throws Error on every other tokenizer.
  static Vocabulary load(const std::filesystem::path& tokenizer_json);
  /// Whether from() reads a tokenizer.json: its tokens are single symbols and nothing else is done to a text.
  static bool is_one(const JsonObject& tokenizer);
  /// The same as load() from the content of the file.
  static Vocabulary from(const JsonObject& tokenizer);
  /// The same from text; `name` is what errors call it.
  static Vocabulary parse(std::string_view tokenizer_json, const std::string& name);

  Kind kind() const { return kind_; }
  int32_t size() const { return static_cast<int32_t>(pieces_.size()); }

  /// One id a character or byte. Throws Error on a character outside the vocabulary: which, where, what to do.
  std::vector<int32_t> encode(std::string_view text, const std::string& name = "the text") const;
  /// The exact inverse of encode. With a byte vocabulary the result need not be UTF-8. Throws Error on an id that is
  /// not in [0, size()).
  std::string decode(std::span<const int32_t> ids) const;
  /// What one id stands for: the character in UTF-8, or one byte. Throws Error like decode.
  std::string_view piece(int32_t id) const;

  /// The content of tokenizer.json.
  std::string to_json() const;
  /// Writes tokenizer.json, and the tokenizer_config.json that lets transformers load it, into a folder. Throws Error.
  void save(const std::filesystem::path& folder) const;

 private:
  Vocabulary(Kind kind, std::vector<std::string> pieces);

  Kind kind_;
  std::vector<std::string> pieces_;                    ///< by id
  std::array<int32_t, 256> ids_of_low_;                ///< id of a byte, or of a code point below 256; -1 without
  std::unordered_map<char32_t, int32_t> ids_of_high_;  ///< ids of the other code points
};

/// Turns ids into text as they come, for a terminal: returns only whole characters. Bytes that are not UTF-8 become
/// U+FFFD, as in the tokenizers library; the pieces joined equal what that library decodes from all ids at once.
class StreamDecoder {
 public:
  /// `vocabulary` must outlive this object.
  explicit StreamDecoder(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}
  /// The text that `id` completes; empty while a character is incomplete. Throws Error like Vocabulary::decode.
  std::string push(int32_t id);
  /// U+FFFD if the ids ended within a character. The object is then as new.
  std::string finish();

 private:
  const Vocabulary& vocabulary_;
  std::string pending_;
};

}  // namespace vkformer
