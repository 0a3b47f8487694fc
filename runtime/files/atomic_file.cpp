#include "runtime/files/atomic_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"
#include "runtime/host/machine.h"

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
  const std::string where = printable(folder.generic_string());
  if (host::is_full(error)) {
    std::error_code ignored;
    const fs::space_info space = fs::space(folder, ignored);
    if (ignored) return "free some space or write to another disk";
    return fmt::format("{} has {} free: free some space or write to another disk", where, human_size(space.available));
  }
  switch (error) {
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

}  // namespace

AtomicFile::AtomicFile(fs::path path, uint64_t size) : path_(std::move(path)), needed_(size) {
  static std::atomic<unsigned> counter = 0;
  std::error_code ignored;
  const fs::file_status present = fs::status(path_, ignored);
  // Renaming over a device or a pipe would replace it.
  check(!fs::exists(present) || fs::is_regular_file(present), "cannot write {}: {}; name a file",
        printable(path_.generic_string()), fs::is_directory(present) ? "it is a folder" : "it is not a regular file");
  int error = 0;
  do {
    fs::path temporary = path_;
    temporary += fmt::format(".tmp-{}-{}", host::process_id(), counter++);
    error = file_.create(temporary);
  } while (error == EEXIST);
  if (error != 0) give_up(error);
}

void AtomicFile::give_up(int error) {
  file_.discard();
  fail("cannot write {} ({}): {}; {}", printable(path_.generic_string()), human_size(std::max(needed_, written_)),
       std::generic_category().message(error), advice(error, folder_of(path_)));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  check(static_cast<bool>(file_), "cannot write {}: the file is already complete", printable(path_.generic_string()));
  written_ += bytes.size();
  if (const int error = file_.write(bytes)) give_up(error);
}

void AtomicFile::commit() {
  check(static_cast<bool>(file_), "cannot write {}: the file is already complete", printable(path_.generic_string()));
  if (const int error = file_.move_to(path_)) give_up(error);
  if (const int error = host::sync(folder_of(path_))) give_up(error);
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
  if (const int error = host::sync(path))
    fail("cannot write {} to the disk: {}; {}", printable(path.generic_string()),
         std::generic_category().message(error), advice(error, folder_of(path)));
}

}  // namespace vkformer
