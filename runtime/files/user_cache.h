#pragma once
// Where what can be made again is kept between runs.

#include <filesystem>

namespace vkformer {

/// $XDG_CACHE_HOME/vkformer or ~/.cache/vkformer (of Windows: in %LOCALAPPDATA%); empty when none of these variables is
/// set. It need not exist yet.
std::filesystem::path user_cache();

}  // namespace vkformer
