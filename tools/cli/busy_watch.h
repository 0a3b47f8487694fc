#pragma once
// While something works for long that can't say how far it is: that it works, and since when.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace vkformer {

class BusyWatch {
 public:
  /// As long as it lives writes a line to stderr after five seconds, then less and less often: "... ", what `told`
  /// gives then, and the time so far. `told` runs on a thread of its own; for an empty text there is no line.
  explicit BusyWatch(std::function<std::string()> told);
  /// The same text each time; none when quiet.
  BusyWatch(const char* text, bool quiet) : BusyWatch([=] { return quiet ? std::string() : text; }) {}
  ~BusyWatch();

 private:
  void watch();

  std::function<std::string()> told_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;  ///< the last member: it uses the others
};

/// For a BusyWatch: how many kernels the driver has compiled, if it has compiled some since the last call.
std::function<std::string()> compiled_kernels();

}  // namespace vkformer
