#pragma once
// What tokenizers need of Unicode beyond UTF-8 itself: normal forms, properties of characters, regular expressions.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/utf8.h"

namespace vkformer {

enum class NormalForm : uint8_t { nfc, nfd, nfkc, nfkd };

/// A text of valid UTF-8 in a normal form.
std::string normalize(std::string_view text, NormalForm form);
/// Whether a text that is cut before this character, wherever it stands, has the same normal form in parts.
bool begins_normal_form(char32_t c, NormalForm form);

// Properties, from the character database of the installed ICU.
bool is_white_space(char32_t c);      ///< White_Space
bool is_word_character(char32_t c);   ///< \w: letters, marks, decimal digits, connectors
bool is_punctuation(char32_t c);      ///< P* of Unicode 8, and all of ASCII but letters, digits, blanks
bool is_numeric(char32_t c);          ///< categories N*
bool is_mark(char32_t c);             ///< categories M*
bool is_nonspacing_mark(char32_t c);  ///< Mn of Unicode 8
bool is_control(char32_t c);          ///< Cc, Cf and Co (private use) of Unicode 8
bool is_letter(char32_t c);           ///< categories L*
bool is_digit(char32_t c);            ///< Numeric_Type Decimal or Digit
bool is_cased(char32_t c);            ///< Cased
bool is_upper(char32_t c);            ///< Uppercase
bool is_lower(char32_t c);            ///< Lowercase
bool is_printable(char32_t c);        ///< a blank, or no separator, control, unassigned or private character

/// Appends the character in lower case: two characters for U+0130, else one.
void append_lower_case(std::string& text, char32_t c);
/// A text of valid UTF-8 in lower case as Python's str.lower() gives it: whole, so that a sigma knows where a word
/// ends.
std::string lower_case(std::string_view text);
/// A text of valid UTF-8 in upper case, with all characters that one may become.
std::string upper_case(std::string_view text);
/// Appends the character as a word begins with it, with all characters that it may become.
void append_title_case(std::string& text, char32_t c);

/// Calls action(character, offset, length) for every character of valid UTF-8.
template <class Action>
void for_each_character(std::string_view text, const Action& action) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    action(step.code_point, at, step.length);
    at += step.length;
  }
}

struct ByteRange {
  size_t begin = 0, end = 0;
};

/// A regular expression as the tokenizers library has them: ^ and $ match at every line, the dot all but line feeds.
class Regex {
 public:
  /// Throws Error, which starts with `name`, for an expression that can't be compiled.
  Regex(std::string_view expression, std::string name);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  /// The matches in valid UTF-8, from left to right. Throws Error when the search needs too much memory.
  std::vector<ByteRange> find_all(std::string_view text) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace vkformer
