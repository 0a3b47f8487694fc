#pragma once
// What Python's str does, on valid UTF-8: positions and lengths count characters. Property tables are those of the
// installed ICU.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer::jinja {

/// str.isspace() of one character.
bool is_space(char32_t c);

int64_t length(std::string_view text);
/// The characters, each a text.
std::vector<std::string> characters(std::string_view text);
/// The byte at which character `index` begins; the text's size behind its end.
size_t offset_of(std::string_view text, int64_t index);

enum class Side : uint8_t { left, right, both };
/// Without white space at its ends or, where `set` is given, without its characters.
std::string_view strip(std::string_view text, Side side);
std::string_view strip(std::string_view text, Side side, std::string_view set);

/// The byte at which the first or the last `part` begins, or npos; in time linear in both, as std::string's are not.
size_t find(std::string_view text, std::string_view part);
size_t rfind(std::string_view text, std::string_view part);

/// At white space, or at `separator` (not empty); at most `most` times, from the left or the right; -1: as often as it
/// comes.
std::vector<std::string> split(std::string_view text, int64_t most, bool from_right);
std::vector<std::string> split(std::string_view text, std::string_view separator, int64_t most, bool from_right);
std::vector<std::string> split_lines(std::string_view text, bool keep_ends);

/// How often replace() would replace something.
int64_t count(std::string_view text, std::string_view part);
/// At most `most` times; -1: everywhere.
std::string replace(std::string_view text, std::string_view old, std::string_view by, int64_t most);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string capitalize(std::string_view text);
/// str.title(): a letter behind a letter is lower.
std::string title(std::string_view text);
/// Jinja's filter "title": words begin behind blanks, hyphens and opening brackets.
std::string title_of_words(std::string_view text);

enum class CharacterClass : uint8_t { space, digit, letter, letter_or_number, upper, lower };
/// str.isdigit() and the like.
bool all_are(std::string_view text, CharacterClass which);

/// repr(): in quotes, what can't be printed escaped.
std::string quoted_text(std::string_view text);

}  // namespace vkformer::jinja
