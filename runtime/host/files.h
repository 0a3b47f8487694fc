#pragma once
// Files that are written, moved and looked at. What fails gives a number of errno's, 0 is success.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>

#include "runtime/host/handle.h"

namespace vkformer::host {

/// A file while it is written, which goes away with the object unless it was moved to its place.
class NewFile {
 public:
  NewFile() = default;
  ~NewFile() { discard(); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// Whether there is one.
  explicit operator bool() const { return static_cast<bool>(file_); }
  /// EEXIST where something has this name.
  int create(const std::filesystem::path& path);
  int write(std::span<const std::byte> bytes);
  /// Forces it to the disk and puts it in place of whatever file `target` names, in one step.
  int move_to(const std::filesystem::path& target);
  void discard() noexcept;

 private:
  std::filesystem::path path_;
  Handle file_;
};

/// Forces a file or a folder (the names in it) to the disk.
int sync(const std::filesystem::path& path);

/// A file or a folder; a file of that name is replaced in one step.
int rename(const std::filesystem::path& from, const std::filesystem::path& to);

/// Whether this error of a write says that there is no room left, or none for this user.
bool is_full(int error);

/// Whether this is why Windows removes nothing that another program has open; other systems remove that.
bool is_held(const std::error_code& error);

/// Of a file that is opened for reading and writing, and closed.
int open_error(const std::filesystem::path& path);

/// Nanoseconds on one clock.
struct FileTimes {
  int64_t written;  ///< its content; what is moved or unpacked keeps it
  int64_t changed;  ///< anything about it, its place, too
};
/// Nothing where the system can't tell.
std::optional<FileTimes> file_times(const std::filesystem::path& path);

}  // namespace vkformer::host
