#pragma once
// What Linux and macOS do each in a way of its own, for the sources of this folder.

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#include "runtime/host/files.h"

namespace vkformer::host {

/// Waits until what was written has reached the disk. -1 where it has not: errno tells why.
int flush_to_disk(int descriptor);

FileTimes times_of(const struct stat& status);

/// Puts the name of what is mapped at an address into `name`, an empty one where nothing tells. May be called in a
/// signal's handler.
void name_mapping(uintptr_t address, char* name, size_t size);

}  // namespace vkformer::host
