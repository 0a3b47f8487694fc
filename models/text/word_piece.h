#pragma once
// WordPiece, the model of BERT's tokenizers: each word is cut from the left into the longest tokens there are.

#include "models/text/token_model.h"
#include "models/text/token_table.h"

namespace vkformer {

/// As WordPiece of the tokenizers library. A word with a part that is no token, or of more than
/// "max_input_chars_per_word" characters, becomes the one token "unk_token"; tokenize throws Error when the vocabulary
/// lacks that.
class WordPiece final : public TokenModel {
 public:
  explicit WordPiece(const JsonObject& model);
  std::vector<Token> tokenize(std::string_view word) const override;
  std::optional<int32_t> id_of(std::string_view token) const override { return table_.id_of(token); }
  std::optional<std::string_view> token_of(int32_t id) const override { return table_.token_of(id); }
  int64_t size() const override { return table_.size(); }

 private:
  /// A token, and how many bytes of the text it covers.
  struct Match {
    int32_t id;
    size_t length;
  };
  /// The longest token that `text` starts with; `continues` unless a word starts there.
  std::optional<Match> longest_match(std::string_view text, bool continues) const;
  std::vector<Token> unknown(std::string_view word) const;

  std::string name_;
  TokenTable table_;
  std::string unk_token_;
  std::string prefix_;  ///< of tokens within a word
  int64_t max_characters_;
};

}  // namespace vkformer
