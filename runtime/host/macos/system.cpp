#include "runtime/host/posix/system.h"

#include <fcntl.h>
#include <libproc.h>
#include <unistd.h>

namespace vkformer::host {

/// fsync() hands to the disk alone, whose own memory loses it when power fails (see Apple's fsync(2)). Not every file
/// system knows more.
int flush_to_disk(int descriptor) { return ::fcntl(descriptor, F_FULLFSYNC) == 0 ? 0 : ::fsync(descriptor); }

FileTimes times_of(const struct stat& status) {
  const auto nanoseconds = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {nanoseconds(status.st_mtimespec), nanoseconds(status.st_ctimespec)};
}

/// By one call of the system behind libproc's, which takes no locks.
void name_mapping(uintptr_t address, char* name, size_t size) {
  const int length = proc_regionfilename(getpid(), address, name, static_cast<uint32_t>(size - 1));
  name[length > 0 ? length : 0] = 0;
}

}  // namespace vkformer::host
