#include "models/text/sentinels.h"

#include <fmt/core.h>

#include <algorithm>

#include "models/text/tokenizer.h"

namespace vkformer {

std::string sentinel(size_t number) { return fmt::format("<extra_id_{}>", number); }

std::vector<int32_t> sentinel_ids(const Tokenizer& tokenizer) {
  std::vector<int32_t> ids;
  while (const auto id = tokenizer.id_of(sentinel(ids.size()))) ids.push_back(*id);
  return ids;
}

std::vector<int32_t> sentinels_beyond(const Tokenizer& tokenizer, std::span<const int32_t> source) {
  std::vector<int32_t> ids = sentinel_ids(tokenizer);
  const auto gaps = std::erase_if(ids, [&](int32_t id) { return std::ranges::find(source, id) != source.end(); });
  return gaps > 0 ? ids : std::vector<int32_t>();
}

std::string decode_with_sentinels(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  const std::vector<int32_t> sentinels = sentinel_ids(tokenizer);
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!text.empty() && !part.empty()) text += ' ';
    text += part;
  };
  while (true) {
    const auto found = std::ranges::find_first_of(ids, sentinels);
    add(tokenizer.decode({ids.begin(), found}));
    if (found == ids.end()) return text;
    add(std::string(*tokenizer.token_of(*found)));
    ids = {found + 1, ids.end()};
  }
}

}  // namespace vkformer
