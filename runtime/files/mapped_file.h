#pragma once
// A file's bytes in memory without reading it first.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace vkformer {

/// A read-only mapping of a whole regular file. The bytes stay valid, at the same address, as long as the object or
/// what it was moved to lives. Replacing the file by a rename does not change them; cutting it short in place makes
/// reads beyond its new end crash (SIGBUS), as with every mapping.
class MappedFile {
 public:
  /// Throws Error when the file is missing, empty, not a regular file or may not be read.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Says that these bytes will not be read again soon, so that the memory they take may be used for something else.
  /// They stay readable.
  void release(std::span<const std::byte> part) const;
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace vkformer
