#pragma once
// File descriptors that are closed in the end, and calls that are made again when a signal interrupted them.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

namespace vkformer {

/// What `call` gives, which is made again as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// An open file, or none.
class Descriptor {
 public:
  Descriptor() = default;
  /// Opens for reading, with these flags beside; tells nothing where it can't: errno does.
  Descriptor(const std::filesystem::path& path, int flags)
      : value_(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags); })) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  explicit operator bool() const { return value_ >= 0; }
  int value() const { return value_; }

 private:
  int value_ = -1;
};

}  // namespace vkformer
