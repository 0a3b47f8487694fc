#include "tools/cli/content_print.h"

#include <fmt/format.h>

#include "runtime/hash.h"

namespace vkformer {

std::string content_print(std::string_view content) {
  uint64_t hash = hash_start;
  for (char c : content) hash = hash_step(hash, static_cast<uint8_t>(c));
  return fmt::format("{}-{:016x}", content.size(), hash);
}

}  // namespace vkformer
