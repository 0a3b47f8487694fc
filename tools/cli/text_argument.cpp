#include "tools/cli/text_argument.h"

#include <fmt/ranges.h>

#include "models/data/lines.h"

namespace vkformer {

std::string text_argument(const std::string& prompt, const std::string& file) {
  if (file.empty() && prompt != "-") return prompt;
  return fmt::format("{}", fmt::join(read_lines(file.empty() ? "-" : file), "\n"));
}

}  // namespace vkformer
