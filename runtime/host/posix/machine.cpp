#include "runtime/host/machine.h"

#include <unistd.h>

#include <cstdlib>

namespace vkformer::host {

std::string machine_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "a machine without a name";
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
