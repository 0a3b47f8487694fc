#include "runtime/files/atomic_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <system_error>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/descriptor.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

std::string human_size(uint64_t bytes) {
  constexpr std::array units = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string advice(int error, const fs::path& folder) {
  const std::string where = printable(folder.string());
  switch (error) {
    case ENOSPC:
    case EDQUOT: {
      std::error_code ignored;
      const fs::space_info space = fs::space(folder, ignored);
      if (ignored) return "free some space or write to another disk";
      return fmt::format("{} has {} free: free some space or write to another disk", where,
                         human_size(space.available));
    }
    case EFBIG: return "raise the limit on file sizes (ulimit -f) or write to another disk";
    case EACCES:
    case EPERM:
    case EROFS: return fmt::format("make {} writable or write to another folder", where);
    case ENOENT: return fmt::format("create the folder {} first", where);
    case ENOTDIR: return fmt::format("a file is in the way of the folder {}: write to another one", where);
    case EIO: return "the disk reports a fault: write to another disk";
    default: return "write to another folder or disk";
  }
}

/// 0, or the error number.
int sync_path(const fs::path& path) {
  const Descriptor file(path, 0);
  if (!file) return errno;
  const int error = uninterrupted([&] { return ::fsync(file.value()); }) == 0 ? 0 : errno;
  return error == EINVAL ? 0 : error;  // some file systems cannot sync a folder, and need not
}

}  // namespace

AtomicFile::AtomicFile(fs::path path, uint64_t size) : path_(std::move(path)), needed_(size) {
  static std::atomic<unsigned> counter = 0;
  std::error_code ignored;
  const fs::file_status present = fs::status(path_, ignored);
  // Renaming over a device or a pipe would replace it.
  check(!fs::exists(present) || fs::is_regular_file(present), "cannot write {}: {}; name a file",
        printable(path_.string()), fs::is_directory(present) ? "it is a folder" : "it is not a regular file");
  do {
    temporary_ = path_;
    temporary_ += fmt::format(".tmp-{}-{}", ::getpid(), counter++);
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file_ < 0 && (errno == EEXIST || errno == EINTR));
  if (file_ < 0) give_up(errno);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
  file_ = -1;
}

void AtomicFile::give_up(int error) {
  discard();
  fail("cannot write {} ({}): {}; {}", printable(path_.string()), human_size(std::max(needed_, written_)),
       std::generic_category().message(error), advice(error, folder_of(path_)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  check(file_ >= 0, "cannot write {}: the file is already complete", printable(path_.string()));
  written_ += bytes.size();
  constexpr size_t largest = size_t{1} << 30;  // some systems refuse more in one call
  while (!bytes.empty()) {
    const ssize_t done = uninterrupted([&] { return ::write(file_, bytes.data(), std::min(bytes.size(), largest)); });
    if (done <= 0) give_up(done < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
}

void AtomicFile::commit() {
  check(file_ >= 0, "cannot write {}: the file is already complete", printable(path_.string()));
  if (uninterrupted([&] { return ::fsync(file_); }) != 0) give_up(errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) give_up(errno);
  ::close(std::exchange(file_, -1));
  if (const int error = sync_path(folder_of(path_))) give_up(error);
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  AtomicFile file(path, content.size());
  file.write(std::as_bytes(std::span(content)));
  file.commit();
}

void copy_file_atomically(const fs::path& from, const fs::path& to) {
  if (fs::is_regular_file(from) && fs::is_empty(from)) return write_file_atomically(to, "");  // nothing to map
  write_file_atomically(to, MappedFile(from).text());
}

void sync_to_disk(const fs::path& path) {
  if (const int error = sync_path(path))
    fail("cannot write {} to the disk: {}; {}", printable(path.string()), std::generic_category().message(error),
         advice(error, folder_of(path)));
}

}  // namespace vkformer
