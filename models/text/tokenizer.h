#pragma once
// Hugging Face tokenizer.json: text to token ids and back, as the tokenizers library does it.

#include <filesystem>
#include <span>

#include "models/text/added_tokens.h"
#include "models/text/decoders.h"
#include "models/text/post_processors.h"
#include "models/text/pre_tokenizers.h"

namespace vkformer {

/// Immutable once read. The settings "truncation" and "padding" are not applied: nothing is cut or filled up.
class Tokenizer {
 public:
  /// Throws Error, naming file and key, when the file can't be read or has a part that is not supported.
  static Tokenizer load(const std::filesystem::path& tokenizer_json);
  explicit Tokenizer(const JsonObject& tokenizer);
  /// "BPE", "WordPiece", "Unigram", or what else a tokenizer.json calls its model.
  static std::string kind_of(const JsonObject& tokenizer);

  /// A text, or a pair of texts; `add_special`: with the special tokens that the tokenizer puts around them. Special
  /// tokens that the text itself spells out are always found. Throws Error on a text that is not UTF-8.
  Encoding encode(std::string_view text, bool add_special = true) const;
  Encoding encode_pair(std::string_view first, std::string_view second, bool add_special = true) const;

  /// The same with the span of each token: the bytes that it stands for, in the way of the tokenizers library's
  /// offsets (trim_offsets is not applied: blanks that a token takes along are its own). They are in order, and overlap
  /// only where tokens share a character: its bytes, or what it was normalized to. What a normalizer drops has no
  /// token, but an accent that it strips belongs to its letter. What a tokenizer puts in, such as a mark of where a
  /// text begins, stands for nothing.
  Encoding encode_with_spans(std::string_view text, bool add_special = true) const;

  /// A text or a pair, or parts of them, that were encoded without special tokens, with those around them. Their spans
  /// say which of the two they belong to.
  Encoding surround(std::vector<Encoding> texts) const;

  /// What encode() or, with a second text, encode_pair() gives, of at most `most` tokens: the longer text, or the first
  /// alone, loses tokens at its end, the special ones around the texts stay. Throws Error where what stays is more,
  /// too.
  struct Cut {
    Encoding encoding;
    bool was_longer = false;
  };
  enum class Shorten : uint8_t { longer, first };
  Cut encode_within(int64_t most, std::string_view first, std::optional<std::string_view> second = {},
                    Shorten which = Shorten::longer) const;

  /// Ids that have no token are left out, as are special tokens where `skip_special` says so. Always UTF-8.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  /// What decoders get of an id; nothing where it has no token or is left out.
  std::optional<std::string_view> decoded_token(int32_t id, bool skip_special) const;

  /// What a token adds to a text behind others, in bytes, of which a character may need several tokens'; nothing for
  /// ids that have no token, and special ones. Throws Error where that depends on the others.
  std::optional<std::string> bytes_of(int32_t id) const;

  /// One more than the largest id.
  int64_t size() const;
  /// Of a token of the vocabulary, or of one that was added to it.
  std::optional<int32_t> id_of(std::string_view token) const;
  /// The token with this id, as the vocabulary has it.
  std::optional<std::string_view> token_of(int32_t id) const;
  /// Ids of the tokens that are marked as special, and of those that are put around a text.
  std::set<int32_t> special_ids() const;
  /// The first of the names that is a special token, else the first that is a token: MPNet has BERT's words, [MASK]
  /// among them, and <mask>.
  std::optional<int32_t> first_known(std::initializer_list<std::string_view> names) const;

 private:
  Encoding encode_text(std::string_view text, int32_t type, bool with_spans = false) const;
  Encoding finish(std::vector<Encoding> texts, bool add_special, bool with_spans = false) const;

  std::unique_ptr<TokenModel> model_;
  Normalizer normalizer_;  ///< empty: none, as the three below
  PreTokenizer pre_tokenizer_;
  PostProcessor post_processor_;
  TokenDecoder decoder_;
  TokenText token_text_;
  std::unique_ptr<AddedTokens> added_;  ///< in one place: its parts point into each other
};

/// Turns ids into text as they come, for a terminal: only what later ids can't change. The pieces joined are the
/// decoded text of all ids without special tokens.
class TokenStream {
 public:
  /// `tokenizer` must outlive this object. The text of `before`, such as a prompt, is not returned, but what follows is
  /// decoded as its continuation.
  explicit TokenStream(const Tokenizer& tokenizer, std::span<const int32_t> before = {});
  std::string push(int32_t id);
  /// What was held back.
  std::string finish();

 private:
  /// Decoding everything again and again would take quadratic time; the last ids tell how the next ones continue.
  /// `text`: of all ids. Where nothing is left, the next would be taken for the first of a text.
  void forget(const std::string& text);

  const Tokenizer& tokenizer_;
  std::vector<int32_t> ids_;  ///< the last ones
  size_t shown_ = 0;          ///< bytes of their text that were returned, or belong to earlier ids
};

}  // namespace vkformer
