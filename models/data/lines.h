#pragma once
// Text files as lines.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// The lines of a UTF-8 text, each without its line feed or CRLF, and without a byte order mark before the first; what
/// follows the last line feed is a line unless it is empty. Throws Error, with `name`, when there is no line, or for
/// what is not UTF-8; that names the line, too.
std::vector<std::string> split_lines(std::string_view text, std::string_view name);

/// The same of a file, which may be a pipe; "-" is standard input. Throws Error when it can't be read, too.
std::vector<std::string> read_lines(const std::filesystem::path& file);

/// Throws Error, with both and the place in the line, for what is not UTF-8. `number`: from 1.
void check_line(std::string_view line, std::string_view name, size_t number);

/// What messages call a file that read_lines() reads: its path, or "standard input".
std::string name_of_lines(const std::filesystem::path& file);

}  // namespace vkformer
