#pragma once
// While a driver compiles kernels for long: how many are done. Most do it once and keep what they made.

#include <condition_variable>
#include <mutex>
#include <thread>

namespace vkformer {

/// Writes a line to stderr after five seconds, then less and less often, as long as pipelines are being made.
class CompileWatch {
 public:
  CompileWatch();
  ~CompileWatch();

 private:
  void watch();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;  ///< the last member: it uses the others
};

}  // namespace vkformer
