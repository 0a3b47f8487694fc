#pragma once
// What it means that a page of a mapping went away, told by the mapping's name.

#include <cstring>

namespace vkformer::host {

/// What became of a mapping that the system has under this name, and what to do: the end of a line that begins with the
/// name. A driver's mappings are a device's memory, which goes away with the device; others are files. May be called in
/// a signal's handler.
inline const char* lost_page_advice(const char* name) {
  const auto begins = [name](const char* text) { return std::strncmp(name, text, std::strlen(text)) == 0; };
  if (begins("/dev/dri/") || begins("/dev/nvidia") || begins("/dev/udmabuf") || begins("/dev/kfd") ||
      begins("/dmabuf:") || begins("anon_inode:"))
    return ": the GPU's memory went away, as the GPU was reset or removed (the kernel's log tells, see dmesg); begin "
           "again, "
           "a training with --resume";
  return " became shorter while it was read, or there was no room for it (a full disk, ulimit -f); leave it alone, and "
         "try again";
}

}  // namespace vkformer::host
