#pragma once
// What Hugging Face's hub calls a file's content by.

#include <filesystem>
#include <string>

namespace vkformer {

/// In hexadecimal digits as many as `like` has: 64 are SHA-256, 40 git's SHA-1 of a blob. Throws Error for a file that
/// can't be read.
std::string content_id(const std::filesystem::path& file, const std::string& like);

}  // namespace vkformer
