#include "runtime/host/posix/system.h"

#include <fcntl.h>
#include <unistd.h>

namespace vkformer::host {

int flush_to_disk(int descriptor) { return ::fsync(descriptor); }

FileTimes times_of(const struct stat& status) {
  const auto nanoseconds = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

/// Reads /proc/self/maps: lines are "BEGIN-END PERMS OFFSET DEV INODE NAME". Only what POSIX allows in a handler: no
/// memory, no locks, no streams.
void name_mapping(uintptr_t address, char* name, size_t size) {
  size_t length = 0;
  uintptr_t bound[2] = {0, 0};
  int field = 0;  // 0, 1: the bounds; 2 to 5: the others before the name; 6: blanks before it; 7: the name
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  char buffer[4096];
  for (ssize_t got = 0; file >= 0 && (got = ::read(file, buffer, sizeof buffer)) > 0;)
    for (ssize_t i = 0; i < got; ++i) {
      const char c = buffer[i];
      if (c == '\n') {
        if (bound[0] <= address && address < bound[1]) {
          name[length] = 0;
          return;
        }
        bound[0] = bound[1] = 0;
        length = 0;
        field = 0;
      } else if (field < 2 && c != '-' && c != ' ') {
        bound[field] = bound[field] * 16 + static_cast<uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      } else if (field < 2 || (field < 6 && c == ' ')) {
        ++field;
      } else if (field == 7 || (field == 6 && c != ' ')) {
        field = 7;
        if (length + 1 < size) name[length++] = c;
      }
    }
  name[0] = 0;
}

}  // namespace vkformer::host
