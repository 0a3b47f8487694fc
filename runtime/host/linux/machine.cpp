#include "runtime/host/machine.h"

#include <fstream>

namespace vkformer::host {

uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (uint64_t kibibytes = 0; file >> key >> kibibytes && std::getline(file, unit);)
    if (key == "MemAvailable:") return kibibytes << 10;
  return UINT64_MAX;
}

}  // namespace vkformer::host
