#pragma once
// Several devices that share one model: each keeps the weights and caches of some layers, one after the other runs its
// own, and what the next one needs goes through the host. For models that no one device has room for; nothing gets
// faster by it. Training is not done this way (see models/training/process_group.h).

#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"

namespace vkformer {

/// The devices that "0,1" or "NVIDIA,Arc" names; commas in parentheses are a name's.
std::vector<std::string> devices_of(const std::string& device);

/// A backend of all of them. Graphs are built for the first one. Stores tell options.note_layers. Throws Error for
/// profiles, and for a number of options.shares that is not that of the devices.
std::unique_ptr<Backend> make_split_backend(std::vector<std::unique_ptr<Backend>> parts, const BackendOptions& options);

}  // namespace vkformer
