#pragma once
// Token ids as people write them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// "5,17,3" or "5 17 3". Throws Error, which begins with `name`, for anything else and for no ids at all.
std::vector<int32_t> parse_ids(std::string_view text, std::string_view name);

}  // namespace vkformer
