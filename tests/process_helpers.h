#pragma once
// Threads as processes of a group.

#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "models/training/process_group.h"

namespace vkformer::testing {

/// What threads have sent to each other and nobody has received yet.
class Mailboxes {
 public:
  explicit Mailboxes(int size) : size_(size) {}
  int size() const { return size_; }
  void put(int from, int to, std::span<const std::byte> bytes) {
    const std::scoped_lock lock(mutex_);
    sent_ += bytes.size();
    letters_[{from, to}].emplace_back(bytes.begin(), bytes.end());
    came_.notify_all();
  }
  std::vector<std::byte> take(int from, int to) {
    std::unique_lock lock(mutex_);
    auto& box = letters_[{from, to}];
    came_.wait(lock, [&] { return !box.empty(); });
    std::vector<std::byte> letter = std::move(box.front());
    box.pop_front();
    return letter;
  }
  size_t bytes_sent() const { return sent_; }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> letters_;
  size_t sent_ = 0;
};

class ThreadLink : public ProcessLink {
 public:
  ThreadLink(Mailboxes& mail, int rank) : mail_(mail), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return mail_.size(); }
  void exchange(int other, std::span<const std::byte> sent, std::span<std::byte> received) override {
    mail_.put(rank_, other, sent);
    const std::vector<std::byte> letter = mail_.take(other, rank_);
    check(letter.size() == received.size(), "{} bytes came, {} were expected", letter.size(), received.size());
    if (!letter.empty()) std::memcpy(received.data(), letter.data(), letter.size());
  }

 private:
  Mailboxes& mail_;
  int rank_;
};

/// Calls `work` in so many threads at once, as processes of a group; what they sent to each other, in bytes.
template <class Work>
size_t as_processes(int size, const Work& work) {
  Mailboxes mail(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      ThreadLink link(mail, rank);
      ProcessGroup group(link);
      work(group);
    });
  for (std::thread& thread : threads) thread.join();
  return mail.bytes_sent();
}

}  // namespace vkformer::testing
