#include "runtime/host/lost_pages.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

#include "runtime/host/posix/lost_page_advice.h"
#include "runtime/host/posix/system.h"

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

void lost_page(int, siginfo_t* info, void*) {
  static char name[4096];
  name_mapping(reinterpret_cast<uintptr_t>(info->si_addr), name, sizeof name);
  for (char* c = name; *c != 0; ++c)  // what a terminal would obey
    if (static_cast<unsigned char>(*c) < 0x20 || *c == 0x7F) *c = '?';
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
