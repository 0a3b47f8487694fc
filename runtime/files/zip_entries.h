#pragma once
// The files in a zip archive that are stored as they are, as PyTorch writes its own.

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace vkformer {

/// Bytes of each file by its name; they lie in `archive`. Zip64 is read, too. Throws Error, with `name`, for an archive
/// that is damaged or cut short, that has compressed or encrypted files, or one name twice.
std::map<std::string, std::span<const std::byte>, std::less<>> zip_entries(std::span<const std::byte> archive,
                                                                           const std::string& name);

}  // namespace vkformer
