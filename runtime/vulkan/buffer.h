#pragma once
// Device memory with an address.

#include <cstddef>
#include <span>

#include "runtime/vulkan/device.h"

namespace vkformer {

/// One VkBuffer with its own memory. Kernels reach it by address, copies by handle.
class Buffer {
 public:
  enum class Memory : uint8_t {
    device,    ///< fastest for kernels; the host can't see it
    weights,   ///< the same, or where the device has no more `host`: see moved()
    host,      ///< the host's, which kernels reach over the bus
    upload,    ///< the host writes, kernels read (prefers device-local memory the host can see)
    readback,  ///< the device writes, the host reads (prefers cached memory)
  };
  /// Throws Error when the device has not that much memory. `name`: what vendors' tools call it.
  Buffer(Device& device, uint64_t bytes, Memory memory, const std::string& name);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  VkBuffer handle() const { return buffer_.get(); }
  uint64_t address() const { return address_; }
  uint64_t size() const { return size_; }
  /// It lies in the host's memory, since the device had no more.
  bool moved() const { return moved_; }
  /// Host view (coherent) of an upload or readback buffer; empty for others.
  std::span<std::byte> mapped() const { return {mapped_, mapped_ ? size_ : 0}; }

 private:
  void allocate(Memory memory);

  Device& device_;
  OwnedMemory memory_;  // outlives what is bound to it
  OwnedBuffer buffer_;
  uint64_t size_ = 0;
  uint64_t address_ = 0;
  std::byte* mapped_ = nullptr;
  bool moved_ = false;
};

}  // namespace vkformer
