#pragma once
// Texts that a command line gives as words, as a file, or as standard input.

#include <string>

namespace vkformer {

/// The text of -p, of which "-" stands for all of standard input, or where a file is named (-f) its text; without the
/// last line break. Throws Error for a file that can't be read and, naming the line, for what is not UTF-8.
std::string text_argument(const std::string& prompt, const std::string& file);

}  // namespace vkformer
