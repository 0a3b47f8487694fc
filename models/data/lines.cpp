#include "models/data/lines.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// Reads to the end what can't be mapped: a pipe or a terminal.
std::string read_stream(std::FILE* stream, std::string_view name) {
  std::string text;
  char buffer[1 << 16];
  size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof buffer, stream)) > 0) text.append(buffer, got);
  check(std::ferror(stream) == 0, "cannot read {}: {}; try again", name, std::generic_category().message(errno));
  return text;
}

}  // namespace

void check_line(std::string_view line, std::string_view name, size_t number) {
  for (size_t at = 0; at < line.size();) {
    const Utf8Step step = read_utf8(line, at);
    check(step.valid, "{}:{}: not UTF-8: byte {} of the line is 0x{:02X}; {}", name, number, at + 1,
          static_cast<unsigned char>(line[at]), way_to_utf8(line));
    at += step.length;
  }
}

std::vector<std::string> split_lines(std::string_view text, std::string_view name) {
  text = without_byte_order_mark(text);
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    check_line(line, name, lines.size() + 1);
    lines.emplace_back(line);
  }
  check(!lines.empty(), "{} is empty; give a text of one line or more", name);
  return lines;
}

std::string name_of_lines(const std::filesystem::path& file) {
  return file == "-" ? "standard input" : printable(file.generic_string());
}

std::vector<std::string> read_lines(const std::filesystem::path& file) {
  const std::string name = name_of_lines(file);
  if (file == "-") return split_lines(read_stream(stdin, name), name);
  std::error_code ignored;  // MappedFile says what is wrong with a file
  if (!std::filesystem::is_fifo(file, ignored)) return split_lines(MappedFile(file).text(), name);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.generic_string().c_str(), "rb"),
                                                               &std::fclose);
  check(stream != nullptr, "cannot read {}: {}; check the path", name, std::generic_category().message(errno));
  return split_lines(read_stream(stream.get(), name), name);
}

}  // namespace vkformer
