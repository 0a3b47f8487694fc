#pragma once
// The entry to Vulkan: its drivers' devices.

#include <vector>

#include "runtime/vulkan/owned.h"
#include "runtime/vulkan/physical_device.h"

namespace vkformer {

/// The number of the chosen device: empty for the best one (discrete, integrated, other, CPU), an index, or part of a
/// name, ignoring case. A driver that can't be used may list a device that another one can. Throws Error that lists the
/// devices when nothing matches, or that says why it can't be used.
int choose_device(const std::vector<InspectedDevice>& devices, const std::string& choice);

/// A Vulkan instance (1.3) and its physical devices.
class Instance {
 public:
  /// Throws Error when there is no loader, no driver or no device.
  Instance();

  VkInstance handle() const { return instance_.get(); }
  /// Made with VK_EXT_debug_utils: see DebugNames.
  bool names_objects() const { return names_objects_; }
  const std::vector<InspectedDevice>& devices() const { return devices_; }
  /// See choose_device().
  int choose(const std::string& choice) const { return choose_device(devices_, choice); }

 private:
  OwnedInstance instance_;
  bool names_objects_ = false;
  std::vector<InspectedDevice> devices_;
};

}  // namespace vkformer
