#pragma once
// Unigram, the model of sentencepiece's usual tokenizers: the cut into pieces with the largest sum of scores.

#include "models/text/piece_trie.h"
#include "models/text/token_model.h"

namespace vkformer {

/// As Unigram of the tokenizers library (encode_optimized). A character that is no piece scores 10 less than the worst
/// piece. Neighbouring unknown characters are one token whose text is what it covers; with "byte_fallback" it becomes
/// the tokens of its bytes, if the vocabulary has all of them. Without "unk_id" tokenize throws Error at the first
/// unknown character. Of equal pieces the last one counts.
class Unigram final : public TokenModel {
 public:
  explicit Unigram(const JsonObject& model);
  std::vector<Token> tokenize(std::string_view word) const override;
  std::optional<int32_t> id_of(std::string_view token) const override { return trie_.find(token); }
  std::optional<std::string_view> token_of(int32_t id) const override;
  int64_t size() const override { return static_cast<int64_t>(vocabulary_.pieces.size()); }

 private:
  struct Vocabulary {
    std::vector<std::string> pieces;  ///< by id
    std::vector<double> scores;
  };
  static Vocabulary read_vocabulary(const JsonObject& model);
  /// Where each token of the best cut ends, unknown characters joined.
  std::vector<size_t> best_cut(std::string_view word) const;
  /// Throws Error without "unk_id".
  int32_t unknown() const;
  void add_tokens(std::vector<Token>& tokens, std::string_view word, ByteRange range) const;

  std::string name_;
  Vocabulary vocabulary_;
  PieceTrie trie_;
  double unknown_score_;
  std::optional<int32_t> unk_id_;
  bool byte_fallback_;
};

}  // namespace vkformer
