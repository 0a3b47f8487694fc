#include "runtime/host/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "runtime/host/posix/open.h"
#include "runtime/host/posix/system.h"

namespace vkformer::host {

int NewFile::create(const std::filesystem::path& path) {
  path_ = path;
  file_ = open_file(path_, O_WRONLY | O_CREAT | O_EXCL);
  return file_ ? 0 : errno;
}

int NewFile::write(std::span<const std::byte> bytes) {
  constexpr size_t largest = size_t{1} << 30;  // some systems refuse more in one call
  while (!bytes.empty()) {
    const ssize_t done =
        uninterrupted([&] { return ::write(descriptor_of(file_), bytes.data(), std::min(bytes.size(), largest)); });
    if (done <= 0) return done < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return 0;
}

int NewFile::move_to(const std::filesystem::path& target) {
  if (uninterrupted([&] { return flush_to_disk(descriptor_of(file_)); }) != 0) return errno;
  if (const int error = host::rename(path_, target)) return error;
  file_.close();
  return 0;
}

void NewFile::discard() noexcept {
  if (!file_) return;
  file_.close();
  ::unlink(path_.c_str());
}

int sync(const std::filesystem::path& path) {
  const Handle file = open_file(path, O_RDONLY);
  if (!file) return errno;
  const int error = uninterrupted([&] { return flush_to_disk(descriptor_of(file)); }) == 0 ? 0 : errno;
  return error == EINVAL ? 0 : error;  // some file systems cannot sync a folder, and need not
}

int rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

bool is_full(int error) { return error == ENOSPC || error == EDQUOT; }

bool is_held(const std::error_code&) { return false; }

int open_error(const std::filesystem::path& path) { return open_file(path, O_RDWR) ? 0 : errno; }

std::optional<FileTimes> file_times(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return times_of(status);
}

}  // namespace vkformer::host
