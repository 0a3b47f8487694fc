#include "runtime/all_cores.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace vkformer {

void on_all_cores(int64_t count, const std::function<void(int64_t)>& work) {
  std::atomic<int64_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;  // of failure
  const auto take_pieces = [&] {
    try {
      for (int64_t piece = next++; piece < count; piece = next++) work(piece);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  const int64_t cores = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, 16);
  std::vector<std::thread> helpers;
  try {
    while (std::ssize(helpers) + 1 < std::min(count, cores)) helpers.emplace_back(take_pieces);
  } catch (const std::system_error&) {
    // Those that are there do the work.
  }
  take_pieces();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace vkformer
