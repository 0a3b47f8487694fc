#pragma once
// Which of a machine's devices is taken, and what is to be said of the others.

#include <optional>
#include <string>
#include <vector>

#include "runtime/vulkan/physical_device.h"

namespace vkformer {

/// The number of the chosen device: empty for the best one (discrete, integrated, other, CPU; among GPUs of a kind the
/// one with more free memory in powers of two, so that a few MiB do not change the choice from run to run, then with
/// more memory at all), an index, or part of a name, ignoring case ("4090", too). A driver that can't be used may list
/// a device that another one can. Throws Error that lists the devices when nothing matches, or that says why it can't
/// be used.
int choose_device(const std::vector<InspectedDevice>& devices, const std::string& choice);

/// That of an empty choice; none where no device can be used.
std::optional<int> best_device(const std::vector<InspectedDevice>& devices);

/// A line for each device that would go before the best one, could it be used: its name, and why it can't. Nothing of
/// one that another driver lists as well, and runs.
std::vector<std::string> passed_over(const std::vector<InspectedDevice>& devices);

/// All that can be used but for one: "1: Card (--device 1), 2: Chip (--device 2)"; empty where there are none.
std::string other_devices(const std::vector<InspectedDevice>& devices, int but);

/// The best device that has so many bytes free, but for one, as "device 1: Card has 9000 MiB free (--device 1)"; empty
/// without one.
std::string device_with_room(const std::vector<InspectedDevice>& devices, int but, uint64_t bytes);

}  // namespace vkformer
