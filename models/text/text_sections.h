#pragma once
// A long text in parts, for tokenizers whose work or memory grows with what they get at a time.

#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// Parts of some thousand bytes of valid UTF-8 that GPT-2's expression cuts into words as it cuts the whole: before a
/// line feed that stands before no blank, a word always starts. Joined they are the text.
std::vector<std::string> text_sections(std::string_view text);

}  // namespace vkformer
