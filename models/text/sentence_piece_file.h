#pragma once
// SentencePiece's model files: spiece.model, tokenizer.model, source.spm.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// What SentencePiece writes for a blank.
inline constexpr const char* blank_sign = "\u2581";

/// What a tokenizer.json can say of such a file. Read here and not by the library, which ends the process for some
/// damaged files.
struct SentencePieceFile {
  /// With their numbers in the file.
  enum class Kind : uint8_t { unigram = 1, bpe, word, character };
  enum class Type : uint8_t { normal = 1, unknown, control, user_defined, unused, byte };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };

  std::string name;           ///< what errors call it
  std::vector<Piece> pieces;  ///< by id
  Kind kind = Kind::unigram;
  int32_t unknown = 0;  ///< the id that stands for what no piece is
  std::string unknown_text = "<unk>";
  bool byte_fallback = false;
  bool prefix = true;         ///< a blank goes before a text
  bool strips_blanks = true;  ///< around a text, and of several ones all but one
  std::string charsmap;       ///< what a Precompiled normalizer does before the cut, as bytes; empty: nothing

  /// Throws Error when the file can't be read, or is none of SentencePiece's: also for pieces that are empty or not
  /// UTF-8, and for scores that are no numbers.
  static SentencePieceFile load(const std::filesystem::path& path);
  static SentencePieceFile parse(std::string_view bytes, std::string name);
};

}  // namespace vkformer
