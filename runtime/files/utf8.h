#pragma once
// UTF-8, strictly as in the Unicode standard (no overlong forms, no surrogates, nothing above U+10FFFF).

#include <cstddef>
#include <string>
#include <string_view>

namespace vkformer {

/// U+FFFD, shown for bytes that are no character.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

/// What stands at one position of a text.
struct Utf8Step {
  char32_t code_point = 0;
  /// Bytes to step over: the character's, or for invalid bytes those that one U+FFFD stands for (at least one).
  size_t length = 0;
  bool valid = false;
  /// Not valid only because the text ends here: more bytes could complete the character.
  bool incomplete = false;
};

/// Reads the character that starts at byte `offset`; `offset` must be smaller than the text's size.
Utf8Step read_utf8(std::string_view text, size_t offset);

/// Whether all of a text is valid.
bool is_utf8(std::string_view text);

/// A text from a file, without the mark that some editors put before it.
std::string_view without_byte_order_mark(std::string_view text);

/// What to do with a text from a file that is not UTF-8, as a message says it: most are of Windows, some UTF-16.
std::string_view way_to_utf8(std::string_view text);

/// Appends one code point, which must be a valid one.
void append_utf8(std::string& text, char32_t code_point);

/// Text from a file or a user, fit for one line of a message: in double quotes, with control characters and invalid
/// bytes escaped, and cut with "..." after about `limit` bytes.
std::string in_quotes(std::string_view text, size_t limit = 60);

/// The same without the quotes.
std::string printable(std::string_view text, size_t limit = 200);

/// Text of any length and number of lines for a terminal: control characters other than line feeds and tabs, and
/// invalid bytes, are escaped, so that no text moves the cursor, changes settings or answers questions.
std::string for_terminal(std::string_view text);

}  // namespace vkformer
