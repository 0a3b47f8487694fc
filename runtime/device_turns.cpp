#include "runtime/device_turns.h"

#include <algorithm>

namespace vkformer {

std::vector<size_t> devices_in_turn(const std::vector<DeviceListing>& devices) {
  const auto best = std::ranges::find(devices, true, &DeviceListing::best);
  if (best == devices.end()) return {};
  std::vector<size_t> numbers{static_cast<size_t>(best - devices.begin())};
  if (best->facts.is_cpu()) return numbers;
  for (const bool same_name : {true, false})
    for (size_t i = 0; i < devices.size(); ++i) {
      const DeviceListing& device = devices[i];
      if (!device.best && device.unusable.empty() && device.facts.kind == best->facts.kind &&
          same_name == (device.facts.name == best->facts.name))
        numbers.push_back(i);
    }
  return numbers;
}

}  // namespace vkformer
