#pragma once
// White space around the parts of an answer.

#include "models/chat/jinja/python_text.h"

namespace vkformer {

inline constexpr std::string_view blanks = " \t\r\n";

/// Less the white space at both ends.
inline std::string_view trimmed(std::string_view text) { return jinja::strip(text, jinja::Side::both, blanks); }

/// Less the white space at the end.
inline std::string_view trimmed_end(std::string_view text) { return text.substr(0, text.find_last_not_of(blanks) + 1); }

}  // namespace vkformer
