#pragma once
// A lock that the Vulkan loader lacks.

#include <mutex>
#include <shared_mutex>

namespace vkformer {

/// Loaders (seen with 1.4.309; their issue 2018) walk the devices of all instances, wherever a device's function is
/// asked for or an object named, with no lock that making and destroying devices and drivers takes: another thread then
/// reads what was freed. Who makes or destroys instances and devices holds this alone, who asks or names shares it.
/// Programs that call Vulkan beside this library, in threads of their own, stay exposed.
inline std::shared_mutex loader_lock;

/// Calls a function of Vulkan that changes what the loader walks.
template <class Call>
auto alone_in_loader(const Call& call) {
  const std::unique_lock lock(loader_lock);
  return call();
}

/// Calls one that has the loader walk.
template <class Call>
auto shared_in_loader(const Call& call) {
  const std::shared_lock lock(loader_lock);
  return call();
}

}  // namespace vkformer
