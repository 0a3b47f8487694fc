#include "tools/cli/content_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/hash.h"

namespace vkformer {

std::string content_print(std::string_view content) {
  uint64_t hash = hash_start;
  // Words at once: models are gigabytes, and each step waits for the one before.
  for (size_t at = 0; at < content.size(); at += sizeof hash) {
    uint64_t word = 0;
    std::memcpy(&word, content.data() + at, std::min(sizeof word, content.size() - at));
    hash = hash_step(hash, word);
  }
  return fmt::format("{}-{:016x}", content.size(), hash);
}

}  // namespace vkformer
