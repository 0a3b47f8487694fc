#pragma once
// Which devices the processes of one machine take.

#include "runtime/backend.h"

namespace vkformer {

/// Numbers of those that processes take in turn: the best device, others of its name, then others of its kind that can
/// be used. CPUs are no more by being shared, so there it is the best one alone. Empty where no device can be used.
std::vector<size_t> devices_in_turn(const std::vector<DeviceListing>& devices);

}  // namespace vkformer
