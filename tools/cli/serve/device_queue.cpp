#include "tools/cli/serve/device_queue.h"

#include "runtime/check.h"

namespace vkformer {

std::optional<HttpReply> DeviceQueue::have_done(const HttpRequest& from,
                                                const std::function<void(const CheckWanted&)>& work) {
  std::atomic<bool> left = false;
  std::packaged_task<void()> task([&] {
    try {
      work([&] { check(!left && !ended_(), "{}", ended_early); });
    } catch (const DeviceLost& lost) {
      lost_ = lost.what();
      throw;
    }
  });
  std::future<void> done = task.get_future();
  uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return error_of(500, ended_early);
    if (std::ssize(waiting_) >= most_waiting_) return error_of(429, too_many);
    ticket = tickets_++;
    waiting_.emplace(ticket, std::move(task));
    came_.notify_one();
  }
  const auto forget = [&] {
    const std::lock_guard lock(mutex_);
    return waiting_.erase(ticket) > 0;
  };
  try {
    while (done.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready) {
      left = left || from.gone();
      if (left && forget()) return HttpReply{.status = 499};  // nobody will read it
    }
    done.get();
  } catch (const std::future_error&) {  // nobody will do it
    return error_of(500, ended_early);
  } catch (const Error& error) {
    return error_of(500, error.what());
  }
  return std::nullopt;
}

DeviceQueue::Counts DeviceQueue::counts() const {
  const std::lock_guard lock(mutex_);
  return {.busy = busy_ ? 1 : 0, .waiting = std::ssize(waiting_)};
}

void DeviceQueue::run(const std::function<bool()>& ended) {
  ended_ = ended;
  while (!ended() && !lost_) {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, std::chrono::milliseconds(100), [&] { return !waiting_.empty(); })) continue;
    auto task = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    busy_ = true;
    lock.unlock();
    task();  // what it throws goes to the one who waits
    lock.lock();
    busy_ = false;
  }
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting_.clear();
  }
  if (lost_) throw DeviceLost(*lost_);
}

}  // namespace vkformer
