#include "runtime/host/folder_lock.h"

#include <sys/file.h>
#include <sys/stat.h>

#include "runtime/host/posix/open.h"

namespace vkformer::host {

int FolderLock::take(const std::filesystem::path& folder) {
  folder_ = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (!folder_) return errno;
  return ::flock(descriptor_of(folder_), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK ? EWOULDBLOCK : 0;
}

bool FolderLock::is_at(const std::filesystem::path& folder) const {
  struct stat taken {};
  struct stat found {};
  return ::fstat(descriptor_of(folder_), &taken) == 0 && ::stat(folder.c_str(), &found) == 0 &&
         taken.st_dev == found.st_dev && taken.st_ino == found.st_ino;
}

}  // namespace vkformer::host
