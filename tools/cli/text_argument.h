#pragma once
// Texts that a command line gives as words, as a file, or as standard input.

#include <optional>
#include <string>
#include <vector>

namespace vkformer {

/// The text of -p, of which "-" stands for all of standard input, or where a file is named (-f) its text; without the
/// last line break. Throws Error for a file that can't be read and, naming the line, for what is not UTF-8.
std::string text_argument(const std::string& prompt, const std::string& file);

/// The lines that a verb works on: one text where -p has one, else those of standard input.
std::vector<std::string> lines_argument(const std::optional<std::string>& text);

}  // namespace vkformer
