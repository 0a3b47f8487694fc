#pragma once
// Requests that are worked on one after the other by the thread that has the device.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>

#include "tools/cli/serve/service.h"

namespace vkformer {

class DeviceQueue {
 public:
  /// Throws Error once nobody waits for the work any more.
  using CheckWanted = std::function<void()>;
  struct Counts {
    int64_t busy = 0, waiting = 0;
  };
  /// Beside the one that is worked on `most_waiting` may wait.
  explicit DeviceQueue(int64_t most_waiting) : most_waiting_(most_waiting) {}

  // From any thread.
  /// Waits until `work` was done by the device's thread; nothing then, else the reply that tells why it was not: too
  /// many wait, the client went away, the server ends, or what Error the work threw.
  std::optional<HttpReply> have_done(const HttpRequest& from, const std::function<void(const CheckWanted&)>& work);
  Counts counts() const;

  /// See Service::run(). Throws DeviceLost.
  void run(const std::function<bool()>& ended);

 private:
  int64_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::map<uint64_t, std::packaged_task<void()>> waiting_;  ///< by when they came
  uint64_t tickets_ = 0;
  bool busy_ = false, closed_ = false;
  // Of the device's thread.
  std::function<bool()> ended_;
  std::optional<std::string> lost_;  ///< why the device is
};

}  // namespace vkformer
