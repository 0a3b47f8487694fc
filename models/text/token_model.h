#pragma once
// The model of a tokenizer: how one piece of normalized text becomes tokens of a vocabulary.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/unicode.h"

namespace vkformer {

class JsonObject;

struct Token {
  int32_t id = 0;
  std::string text;  ///< as the vocabulary has it
  ByteRange range;   ///< of the word, which it stands for
};

/// The "model" of a tokenizer.json.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  /// The tokens of one pre-tokenized piece of UTF-8. Throws Error where a token is unknown and the model has no token
  /// for unknowns that it could give instead, if the tokenizers library does so too.
  virtual std::vector<Token> tokenize(std::string_view word) const = 0;
  virtual std::optional<int32_t> id_of(std::string_view token) const = 0;
  virtual std::optional<std::string_view> token_of(int32_t id) const = 0;
  /// The number of tokens.
  virtual int64_t size() const = 0;
};

/// From the object "model" of tokenizer.json, whose type is "BPE", "WordPiece" or "Unigram". Throw Error with the file
/// and key.
std::unique_ptr<TokenModel> make_bpe(const JsonObject& model);
std::unique_ptr<TokenModel> make_word_piece(const JsonObject& model);
std::unique_ptr<TokenModel> make_unigram(const JsonObject& model);

}  // namespace vkformer
