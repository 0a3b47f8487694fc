#include "runtime/host/lost_pages.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>

#include "runtime/host/posix/lost_page_advice.h"

namespace vkformer::host {

namespace {

// Only what POSIX allows in a handler: no memory, no locks, no streams.

void put(const char* text) {
  size_t length = std::strlen(text);
  while (length > 0) {
    const ssize_t done = ::write(STDERR_FILENO, text, length);
    if (done <= 0) return;
    text += done;
    length -= static_cast<size_t>(done);
  }
}

/// Puts the name that /proc/self/maps has for an address into `name`: lines are "BEGIN-END PERMS OFFSET DEV INODE
/// NAME". What a terminal would obey becomes '?'.
void name_at(uintptr_t address, char* name, size_t size) {
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
        const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
        if (length + 1 < size) name[length++] = control ? '?' : c;
      }
    }
  name[0] = 0;
}

void lost_page(int, siginfo_t* info, void*) {
  static char name[4096];
  name_at(reinterpret_cast<uintptr_t>(info->si_addr), name, sizeof name);
  put("vkformer: ");
  put(name[0] != 0 ? name : "a file in memory");
  put(lost_page_advice(name));
  put("\n");
  ::_exit(1);
}

}  // namespace

void name_lost_pages() {
  struct sigaction action {};
  action.sa_sigaction = lost_page;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace vkformer::host
