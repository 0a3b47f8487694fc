#include "runtime/host/machine.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace vkformer::host {

std::string machine_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "a machine without a name";
}

uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");  // of Linux alone
  std::string key, unit;
  for (uint64_t kibibytes = 0; file >> key >> kibibytes && std::getline(file, unit);)
    if (key == "MemAvailable:") return kibibytes << 10;
  return UINT64_MAX;
}

std::filesystem::path cache_folder() {
  if (const char* home = std::getenv("HOME"); home && *home) return std::filesystem::path(home) / ".cache";
  return {};
}

int64_t process_id() { return getpid(); }

std::tm local_time(std::time_t time) {
  std::tm local{};
  localtime_r(&time, &local);
  return local;
}

bool set_variable(const char* name, const char* value) { return setenv(name, value, 1) == 0; }

}  // namespace vkformer::host
