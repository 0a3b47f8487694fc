#include "runtime/files/user_cache.h"

#include <cstdlib>

namespace vkformer {

std::filesystem::path user_cache() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::filesystem::path(xdg) / "vkformer";
  if (const char* home = std::getenv("HOME"); home && *home) return std::filesystem::path(home) / ".cache" / "vkformer";
  return {};
}

}  // namespace vkformer
