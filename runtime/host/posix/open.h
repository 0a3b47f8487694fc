#pragma once
// Calls that are made again when a signal interrupted them.

#include <fcntl.h>

#include <cerrno>
#include <filesystem>

#include "runtime/host/handle.h"

namespace vkformer::host {

/// What `call` gives, which is made again as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Opens with these flags, for this process alone; tells nothing where it can't: errno does.
inline Handle open_file(const std::filesystem::path& path, int flags) {
  return Handle(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }));
}

/// The descriptor, as calls of the system take it.
inline int descriptor_of(const Handle& handle) { return static_cast<int>(handle.value()); }

}  // namespace vkformer::host
