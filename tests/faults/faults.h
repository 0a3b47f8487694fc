#pragma once
// Makes the n-th call of a kind fail. Linked before the libraries' own, the calls of this folder come first: they
// count, fail one of them, and pass the others on. Only what vkformer calls counts, itself or through the C++ library;
// drivers and loaders are left alone. tests/faults/walk.sh walks n.
//
//   VKFORMER_FAULT=device-memory:12   the kind and n, from 1; without it nothing fails
//   VKFORMER_FAULT_REPORT=FILE        gets the number of calls of each kind, their places (places.h) if nothing has to
//                                     fail, the call that failed, and what was not given back: "device-memory 310",
//                                     "place device-memory 3 17", "failed vkCreateBuffer", "left VkFence 1"

#include <cstdint>

namespace faults {

enum class Kind : uint8_t {
  host_memory,    ///< a Vulkan call is out of the host's memory
  device_memory,  ///< .. or of the device's
  device_lost,    ///< from the n-th wait or submission on
  disk_full,      ///< ENOSPC from the n-th call on that takes space
  io_error,       ///< EIO, once
  short_read,     ///< one byte is read
  short_write,    ///< one byte is written
  interrupted,    ///< EINTR, once
  allocation,     ///< std::bad_alloc for more than a page, ENOMEM for a mapping, EAGAIN for a thread
};

/// Whether this call, which may fail in this way, has to. Counts it.
bool strikes(Kind kind, const char* call);

/// Whether the function that returns to `caller` was called for vkformer's sake: by its code, or by the C++ library for
/// it, and by no other library.
bool is_ours(void* caller);

/// Something was made or given back that must not be left at the end: "VkFence", "descriptor".
void made(const char* what);
void given_back(const char* what);

/// The function that this folder's stands before.
void* next_function(const char* name);
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(next_function(name));
}

}  // namespace faults

/// In a function of this folder: whether it was called for vkformer's sake.
#define CALLED_BY_US faults::is_ours(__builtin_return_address(0))
