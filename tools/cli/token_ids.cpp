#include "tools/cli/token_ids.h"

#include <charconv>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

std::vector<int32_t> parse_ids(std::string_view text, std::string_view name) {
  std::vector<int32_t> ids;
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    check(error == std::errc() && id >= 0, "{} {} is not a list of token ids; write them like 5,17,3", name,
          in_quotes(text));
    ids.push_back(id);
    at = next;
  }
  check(!ids.empty(), "{} {} has no token ids; write them like 5,17,3", name, in_quotes(text));
  return ids;
}

}  // namespace vkformer
