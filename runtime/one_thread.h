#pragma once
// Refuses what must not happen: that two threads are inside an object that belongs to one at a time.

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "runtime/check.h"

namespace vkformer {

/// Lets one thread in, any number of times, and refuses others until it has left. Nobody ever waits.
class OneThread {
 public:
  /// Leaves when it is destroyed.
  class Stay {
   public:
    explicit Stay(std::atomic<std::thread::id>* owner) : owner_(owner) {}
    ~Stay() {
      if (owner_) owner_->store({}, std::memory_order_release);
    }
    Stay(Stay&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)) {}
    Stay& operator=(Stay&&) = delete;

   private:
    std::atomic<std::thread::id>* owner_;  ///< nullptr: this thread was inside already
  };

  /// Throws Error, with the object's name, while another thread is inside.
  [[nodiscard]] Stay enter(const std::string& name) {
    const std::thread::id self = std::this_thread::get_id();
    if (owner_.load(std::memory_order_relaxed) == self) return Stay(nullptr);
    std::thread::id nobody;
    check(owner_.compare_exchange_strong(nobody, self, std::memory_order_acquire),
          "{} is used by two threads at the same time; give each thread a backend of its own", name);
    return Stay(&owner_);
  }

 private:
  std::atomic<std::thread::id> owner_;
};

}  // namespace vkformer
