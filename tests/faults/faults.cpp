#include "tests/faults/faults.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "tests/faults/places.h"

namespace faults {

namespace {

constexpr std::array names = {"host-memory", "device-memory", "device-lost", "disk-full", "io-error",
                              "short-read",  "short-write",   "interrupted", "allocation"};

struct Plan {
  int kind = -1;
  uint64_t nth = 0;

  Plan() {
    const char* text = std::getenv("VKFORMER_FAULT");
    if (!text) return;
    const char* colon = std::strchr(text, ':');
    for (size_t i = 0; colon && i < names.size(); ++i)
      if (std::strncmp(text, names[i], static_cast<size_t>(colon - text)) == 0) kind = static_cast<int>(i);
    if (kind >= 0) nth = std::strtoull(colon + 1, nullptr, 10);
    if (nth > 0) return;
    std::fprintf(stderr, "VKFORMER_FAULT=%s is not KIND:N\n", text);
    std::_Exit(3);
  }
};

std::array<std::atomic<uint64_t>, names.size()> counts;
std::atomic<const char*> failed = nullptr;

/// How many of a kind were made and not given back. An array, for counting must not allocate.
struct Left {
  const char* what = nullptr;
  int64_t count = 0;
};
std::array<Left, 32> left;
std::mutex mutex;

/// A lost device stays lost, and a full disk full.
bool lasts(Kind kind) { return kind == Kind::device_lost || kind == Kind::disk_full; }

void change(const char* what, int64_t by) {
  const std::lock_guard lock(mutex);
  for (Left& kind : left) {
    if (kind.what && std::strcmp(kind.what, what) != 0) continue;
    kind.what = what;
    kind.count += by;
    return;
  }
}

/// After main and what it leaves to be destroyed. Past the calls that are counted here.
[[gnu::destructor]] void report() {
  const char* file = std::getenv("VKFORMER_FAULT_REPORT");
  if (!file) return;
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += std::string(names[i]) + " " + std::to_string(counts[i]) + "\n";
  text += places(names.data());
  if (const char* call = failed) text += std::string("failed ") + call + "\n";
  for (const auto& [what, count] : left)
    if (count != 0) text += std::string("left ") + what + " " + std::to_string(count) + "\n";
  const long to = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (to < 0 || syscall(SYS_write, to, text.data(), text.size()) != static_cast<long>(text.size())) std::_Exit(3);
  syscall(SYS_close, to);
}

}  // namespace

bool strikes(Kind kind, const char* call) {
  static const Plan plan;
  const uint64_t n = ++counts[static_cast<size_t>(kind)];
  if (plan.kind < 0) note_place(static_cast<size_t>(kind), n);
  if (static_cast<int>(kind) != plan.kind || n < plan.nth || (n > plan.nth && !lasts(kind))) return false;
  const char* none = nullptr;
  failed.compare_exchange_strong(none, call);
  return true;
}

void made(const char* what) { change(what, 1); }
void given_back(const char* what) { change(what, -1); }

void* next_function(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  if (function) return function;
  std::fprintf(stderr, "no library has %s\n", name);
  std::_Exit(3);
}

}  // namespace faults
