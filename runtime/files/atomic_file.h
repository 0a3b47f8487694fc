#pragma once
// Files that appear whole or not at all.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "runtime/host/files.h"

namespace vkformer {

/// Writes a file under a temporary name in the same folder, and puts it in place of `path` in one step when it is
/// complete and on the disk. Until commit() a reader sees what was there before; when anything fails the temporary
/// file is removed. Every failure throws one Error with the path, the bytes needed and what to do.
class AtomicFile {
 public:
  /// `size` is the whole size when it is known, for the message about a full disk. Throws Error also when `path` names
  /// something that is not a regular file.
  explicit AtomicFile(std::filesystem::path path, uint64_t size = 0);

  void write(std::span<const std::byte> bytes);
  /// File to disk, rename, folder to disk. Call it once, last.
  void commit();

 private:
  [[noreturn]] void give_up(int error);

  std::filesystem::path path_;
  uint64_t needed_;
  uint64_t written_ = 0;
  host::NewFile file_;
};

/// The whole content at once.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// The same of another file's content.
void copy_file_atomically(const std::filesystem::path& from, const std::filesystem::path& to);

/// Forces a file or a folder (the names in it) to the disk. Throws Error.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace vkformer
