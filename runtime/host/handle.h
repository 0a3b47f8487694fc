#pragma once
// What the system has opened for this process.

#include <cstdint>
#include <utility>

namespace vkformer::host {

/// A file descriptor, or a HANDLE of Windows, that is closed in the end; or none.
class Handle {
 public:
  Handle() = default;
  /// What a call of the system gave, -1 of one that failed.
  explicit Handle(intptr_t value) : value_(value) {}
  ~Handle() { close(); }
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  explicit operator bool() const { return value_ != -1; }
  intptr_t value() const { return value_; }
  void close() noexcept;

 private:
  intptr_t value_ = -1;
};

}  // namespace vkformer::host
