#pragma once
// SentencePiece's trainer without its files: lines of text in, the pieces of a vocabulary out.

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace vkformer {

struct SentencePieces {
  /// The trained model as SentencePieceProcessor::LoadFromSerializedProto takes it.
  std::string model;
  std::vector<std::string> pieces;  ///< by id, special ones too
  std::vector<float> scores;        ///< by id; 0 for special ones, else the larger the better
  std::vector<bool> special;        ///< by id: stands for no text
  /// What a Precompiled normalizer does before the cut, as bytes (see precompiled_charsmap.h); empty: nothing.
  std::string charsmap;
};

/// The trainer drops lines with this character, by which it marks unknown ones; a separator for training_parts.
inline constexpr const char* reserved_character = "\u2585";

/// Options of spm_train by name.
using SentencePieceOptions = std::unordered_map<std::string, std::string>;

/// Trains on `lines` of UTF-8, all of them and each once: nothing is sampled, and lines that the trainer can't take
/// must have been cut (see training_parts). Of "vocab_size" tokens `reserved` are left for others; fewer pieces than
/// the rest come out where the lines do not have more. The same lines and options give the same bits, also of
/// "num_threads", by which sums are split. Prints nothing but what can't go on. Throws Error when there is no character
/// that is visible, or the vocabulary is smaller than the alphabet of the lines and the special pieces.
SentencePieces train_sentence_pieces(std::span<const std::string> lines, SentencePieceOptions options,
                                     int64_t reserved = 0);

/// What the trainer learns from, as the tokenizer will see it: the lines cut at `separators` (special tokens, which are
/// found before any piece), without them, into parts of at most `longest` bytes, at blanks where there are some.
std::vector<std::string> training_parts(std::span<const std::string> lines, std::span<const std::string> separators,
                                        size_t longest);

/// Left and right of every merge that gives a piece, best first: pieces in the order of their scores, and each by all
/// of its splits into two other pieces, the longest left one first, as transformers' SentencePieceExtractor has them.
/// Without special pieces.
std::vector<std::pair<std::string, std::string>> merges_of(const SentencePieces& pieces);

}  // namespace vkformer
