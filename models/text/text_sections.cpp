#include "models/text/text_sections.h"

#include "models/text/unicode.h"
#include "runtime/files/utf8.h"

namespace vkformer {

std::vector<std::string> text_sections(std::string_view text) {
  constexpr size_t shortest = 4096;
  const auto blank_at = [&](size_t at) { return is_white_space(read_utf8(text, at).code_point); };
  std::vector<std::string> sections;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n', shortest), text.size());
    while (end + 1 < text.size() && blank_at(end + 1)) end = std::min(text.find('\n', end + 1), text.size());
    if (end + 1 >= text.size()) end = text.size();
    sections.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return sections;
}

}  // namespace vkformer
