#pragma once
// A part of a text on its way to tokens, and where its bytes come from.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/unicode.h"

namespace vkformer {

/// Throws Error when a tokenizer's rules have made so many bytes (or tokens) of so many before that they can't be
/// right: a few rules that double a text, one after another, would fill any memory. Those in use add a blank or two,
/// and compatibility forms have at most 18 characters for one.
void check_growth(size_t before, size_t now);

struct TextPart {
  std::string text;
  /// Whether its first character comes from the first one of the whole text: Metaspace marks only that with the scheme
  /// "first".
  bool at_start = false;
  /// Which bytes of the whole text each byte comes from, in order; absent where that is not followed. The bytes of a
  /// character, and what becomes of characters that are replaced together, all come from all of it; what a tokenizer
  /// puts in comes from an empty range.
  std::optional<std::vector<ByteRange>> origins = {};
  size_t whole = 0;  ///< bytes of the whole text, before anything was changed

  /// Bytes [begin, end) of this part.
  TextPart part(ByteRange range) const;
  /// Where they come from; of no bytes the place before them. Needs `origins`.
  ByteRange origin_of(ByteRange range) const;
};

/// A whole text of valid UTF-8.
TextPart whole_text(std::string_view text, bool follow_origins);

/// Writes a part anew, from left to right.
class Rewriting {
 public:
  explicit Rewriting(TextPart& part) : part_(part) {
    if (part.origins) origins_.emplace();
  }

  /// Append to it, then say with from() what of the part that comes from.
  std::string text;

  /// Throws Error when the text has grown too much.
  void from(ByteRange range) {
    check_growth(part_.whole, text.size());
    if (origins_) origins_->resize(text.size(), part_.origin_of(range));
  }
  /// Appends bytes of the part as they are.
  void keep(ByteRange range);
  /// Puts the new text in the place of the part's.
  void finish();

 private:
  TextPart& part_;
  std::optional<std::vector<ByteRange>> origins_;
};

/// `content` in place of every match.
void replace_all(TextPart& part, const std::vector<ByteRange>& matches, std::string_view content);

/// `text` before the part's own.
void put_in_front(TextPart& part, std::string_view text);

/// Every byte as its character in GPT-2's alphabet.
void bytes_to_alphabet(TextPart& part);

}  // namespace vkformer
