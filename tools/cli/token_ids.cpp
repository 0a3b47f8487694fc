#include "tools/cli/token_ids.h"

#include <charconv>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

std::vector<int32_t> parse_ids(std::string_view text, std::string_view name) {
  std::vector<int32_t> ids;
  const char *at = text.data(), *end = at + text.size();
  const auto is_right = [&](bool right) {
    check(right, "{} {} is not a list of token ids; write them like 5,17,3", name, in_quotes(text));
  };
  bool comma = false;  // between the last id and the next
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      is_right(*at == ' ' || (!comma && !ids.empty()));
      if (*at++ == ',') comma = true;
      continue;
    }
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    is_right(error == std::errc() && id >= 0);
    ids.push_back(id);
    at = next;
    comma = false;
  }
  is_right(!comma);
  check(!ids.empty(), "{} {} has no token ids; write them like 5,17,3", name, in_quotes(text));
  return ids;
}

}  // namespace vkformer
