#pragma once
// Files in memory, as the system gives them.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace vkformer::host {

enum class FileKind : uint8_t { regular, folder, other };

struct Mapping {
  int error = 0;  ///< a number of errno's where it can't be had, 0 otherwise
  FileKind kind = FileKind::regular;
  std::span<const std::byte> bytes = {};  ///< none of an empty file, and of what is no regular one
};

/// The whole file, to be read from its begin to its end at best. Waits for nobody, whatever lies at the path. The bytes
/// stay until unmap(), whatever becomes of the name.
Mapping map_file(const std::filesystem::path& path);
void unmap(std::span<const std::byte> bytes);
/// Says that `part` of a mapping will not be read again soon; it stays readable.
void release(std::span<const std::byte> bytes, std::span<const std::byte> part);

}  // namespace vkformer::host
