#pragma once
// Byte pair encoding: a word starts as its characters, and the pair of neighbours whose merge ranks first is joined
// until no pair of neighbours can be.

#include <unordered_map>

#include "models/text/token_model.h"
#include "models/text/token_table.h"

namespace vkformer {

/// As BPE of the tokenizers library, without dropout (which a model file may ask for, and is then refused). A character
/// outside the vocabulary becomes, with "byte_fallback", the tokens of its bytes if the vocabulary has all of them;
/// otherwise "unk_token" (with "fuse_unk" one for a run of them); otherwise nothing. tokenize throws Error when the
/// vocabulary lacks "unk_token". Linear in the word's length, but for a factor of its logarithm.
class Bpe final : public TokenModel {
 public:
  /// Of equal merges the last one counts. Throws Error with file and key, also for a merge of tokens, or into a token,
  /// that the vocabulary lacks.
  explicit Bpe(const JsonObject& model);
  std::vector<Token> tokenize(std::string_view word) const override;
  std::optional<int32_t> id_of(std::string_view token) const override { return table_.id_of(token); }
  std::optional<std::string_view> token_of(int32_t id) const override { return table_.token_of(id); }
  int64_t size() const override { return table_.size(); }

 private:
  /// What becomes of a pair of neighbours.
  struct Merge {
    size_t rank;
    int32_t id;
  };
  /// A token of the word, and the bytes that it stands for.
  struct Piece {
    int32_t id;
    ByteRange range;
  };
  /// One of the word being merged, in a list that keeps its place.
  struct Symbol {
    Piece piece;
    ptrdiff_t previous, next;  ///< -1 at the ends
    bool removed = false;
  };
  struct Candidate;

  void read_merges(const JsonObject& model);
  void add_merge(std::string_view left, std::string_view right, size_t rank);
  const Merge* merge_of(int32_t left, int32_t right) const;
  /// A word's characters.
  std::vector<Piece> start(std::string_view word) const;
  /// The tokens of the bytes of `text`; empty unless the vocabulary has all of them.
  std::vector<int32_t> bytes_of(std::string_view text) const;
  std::vector<Piece> merge(const std::vector<Piece>& pieces) const;

  std::string name_;
  TokenTable table_;
  std::optional<std::string> unk_token_;
  std::string prefix_;  ///< of every character but a word's first
  std::string suffix_;  ///< of a word's last character
  bool fuse_unk_, byte_fallback_, ignore_merges_;
  std::unordered_map<uint64_t, Merge> merges_;  ///< by the ids of left and right
};

}  // namespace vkformer
