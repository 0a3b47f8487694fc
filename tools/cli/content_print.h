#pragma once
// What a run remembers of the files that it read.

#include <string>
#include <string_view>

namespace vkformer {

/// The size and a hash: tells one content from another; not a secret.
std::string content_print(std::string_view content);

}  // namespace vkformer
