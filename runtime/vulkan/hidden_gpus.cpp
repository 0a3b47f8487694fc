#include "runtime/vulkan/hidden_gpus.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "runtime/check.h"

namespace vkformer {

std::vector<std::string> hidden_gpus(const std::filesystem::path& devices,
                                     const std::function<int(const std::filesystem::path&)>& error_of) {
  std::vector<std::filesystem::path> closed;
  std::error_code none;
  std::filesystem::directory_iterator entry(devices / "dri", none);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(none)) {
    const std::filesystem::path& file = entry->path();
    if (!file.filename().generic_string().starts_with("renderD")) continue;
    if (const int error = error_of(file); error == EACCES || error == EPERM) closed.push_back(file);
  }
  std::ranges::sort(closed);
  std::vector<std::string> lines;
  for (const std::filesystem::path& file : closed)
    lines.push_back(fmt::format(
        "a GPU is here that this user may not open ({}): join the group render (or video), by `sudo usermod -aG render "
        "$USER`, and log in again; to a container give the device and its group",
        file.generic_string()));
  for (const char* name : {"nvidiactl", "nvidia0"}) {
    const auto file = devices / name;
    if (!std::filesystem::exists(file, none)) continue;
    lines.push_back(
        fmt::format("NVIDIA's driver is here ({}), but not its part for Vulkan: install that; a container gets it by "
                    "NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics",
                    file.generic_string()));
    break;
  }
  return lines;
}

const char* drivers_named_by() {
  for (const char* name : {"VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_LOADER_DRIVERS_SELECT"})
    if (const char* value = std::getenv(name); value != nullptr && *value != 0) return name;
  return nullptr;
}

}  // namespace vkformer
