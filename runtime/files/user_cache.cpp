#include "runtime/files/user_cache.h"

#include <cstdlib>

#include "runtime/host/machine.h"

namespace vkformer {

std::filesystem::path user_cache() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg && *xdg) return std::filesystem::path(xdg) / "vkformer";
  const auto folder = host::cache_folder();
  return folder.empty() ? folder : folder / "vkformer";
}

}  // namespace vkformer
