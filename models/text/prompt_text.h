#pragma once
// What turns a model folder's texts into ids and back, whatever kind of tokenizer it has.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "models/text/languages.h"
#include "models/text/tokenizer.h"
#include "models/text/vocabulary.h"

namespace vkformer {

/// The characters or bytes of a model trained here, or any tokenizer that is supported.
class PromptText {
 public:
  /// `language`: of the texts, for a tokenizer of many; empty: as its files say. Throws Error when the folder has no
  /// tokenizer.json that can be used, or not this language.
  explicit PromptText(const std::filesystem::path& folder, const std::string& language = {});
  /// Those that a translation may be told.
  const Languages& languages() const { return *languages_; }
  /// Of what the model writes: another tokenizer where an encoder has a vocabulary of its own.
  const PromptText& target() const { return target_ ? *target_ : *this; }

  /// The ids of a prompt, with the special tokens that belong around a text. Throws Error when there are none, and on
  /// characters that the model does not know.
  std::vector<int32_t> encode(std::string_view prompt) const;
  /// The same of at most `most` tokens: more lose those at the text's end (see Tokenizer::encode_within).
  std::vector<int32_t> encode_within(int64_t most, std::string_view prompt) const;
  /// The ids of a text, which may be empty, and their tokens for people to see; with the special tokens that belong
  /// around it or without.
  Encoding encode_line(std::string_view line, bool special) const;
  /// The ids of a text that has its special tokens in it already.
  std::vector<int32_t> encode_as_it_is(std::string_view text) const;
  /// The id of a token, nothing where there is none; and of one that is_special().
  std::optional<int32_t> id_of(std::string_view token) const;
  std::optional<int32_t> special_id(std::string_view token) const;
  /// Whether a text is decoded without this id.
  bool is_special(int32_t id) const;
  /// Two texts, as an encoder takes them. Throws Error like encode().
  Encoding encode_pair(std::string_view first, std::string_view second) const;
  /// Without special tokens, but for T5's sentinels: what a model fills into a gap stands behind the gap's.
  std::string decode(std::span<const int32_t> ids) const;
  /// With all special tokens.
  std::string decode_all(std::span<const int32_t> ids) const;
  /// Ids that end what an encoder-decoder makes of a source, beside its usual ones, see sentinels_beyond().
  std::vector<int32_t> ends_beside(std::span<const int32_t> source) const;
  /// One token for people to see: spaces as the sign U+2581, control characters escaped; "" for ids that have none.
  std::string piece(int32_t id) const;
  /// One more than the largest id that a text can have.
  int64_t size() const;
  /// nullptr for characters or bytes.
  const Tokenizer* tokenizer() const { return tokenizer_ ? &*tokenizer_ : nullptr; }
  /// Whether a text has a token for its end.
  bool has_end() const { return tokenizer_.has_value(); }

  /// See Tokenizer::bytes_of().
  std::optional<std::string> bytes_of(int32_t id) const;

  /// Text piece by piece, as a continuation of `prompt`. Ends with `push({})`.
  std::function<std::string(std::optional<int32_t>)> stream(std::span<const int32_t> prompt) const;

 private:
  PromptText(const JsonObject& file, const std::string& language);

  std::optional<Languages> languages_;
  std::optional<Vocabulary> vocabulary_;
  std::optional<Tokenizer> tokenizer_;
  std::shared_ptr<const PromptText> target_;
};

}  // namespace vkformer
