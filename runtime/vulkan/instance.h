#pragma once
// The entry to Vulkan: its drivers' devices.

#include <vector>

#include "runtime/vulkan/device_choice.h"
#include "runtime/vulkan/owned.h"

namespace vkformer {

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
  /// What the user should know, a line each, of the GPUs that an empty choice does not take.
  std::vector<std::string> notes_on_best() const;

 private:
  OwnedInstance instance_;
  bool names_objects_ = false;
  std::vector<InspectedDevice> devices_;
};

}  // namespace vkformer
