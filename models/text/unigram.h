#pragma once
// Unigram, the model of sentencepiece's usual tokenizers: the cut into pieces with the largest sum of scores.

#include "models/text/piece_trie.h"
#include "models/text/token_model.h"

namespace vkformer {

/// As Unigram of the tokenizers library (encode_optimized). A character that is no piece scores 10 less than the worst
/// piece. Neighbouring unknown characters are one token whose text is what it covers; with "byte_fallback" it becomes
/// the tokens of its bytes, if the vocabulary has all of them. Without "unk_id" tokenize throws Error at the first
/// unknown character. Of equal pieces the last one counts.
///
/// Where the model has "pieces", like "vocab" (a key of our own, for Marian's tokenizers), texts are cut into these,
/// and what is cut gets the id of its text in "vocab": that of "unk_id" where there is none.
class Unigram final : public TokenModel {
 public:
  explicit Unigram(const JsonObject& model);
  std::vector<Token> tokenize(std::string_view word) const override;
  std::optional<int32_t> id_of(std::string_view token) const override { return vocabulary_.trie.find(token); }
  std::optional<std::string_view> token_of(int32_t id) const override;
  int64_t size() const override { return static_cast<int64_t>(vocabulary_.texts.size()); }

 private:
  struct Pieces {
    Pieces(const JsonObject& model, const char* key);
    std::vector<std::string> texts;  ///< by id
    std::vector<double> scores;
    PieceTrie trie;
  };
  /// Where each token of the best cut ends, unknown characters joined.
  std::vector<size_t> best_cut(std::string_view word) const;
  /// Throws Error without "unk_id".
  int32_t unknown() const;
  /// Sums of scores are kept in the precision of SentencePiece where that would cut, of the tokenizers library
  /// otherwise: of two cuts with one sum, rounding decides.
  double rounded(double sum) const;
  void add_tokens(std::vector<Token>& tokens, std::string_view word, ByteRange range) const;

  std::string name_;
  Pieces vocabulary_;
  std::optional<Pieces> cut_;  ///< what texts are cut into, where that is not the vocabulary
  double unknown_score_;
  std::optional<int32_t> unk_id_;
  bool byte_fallback_;
};

}  // namespace vkformer
