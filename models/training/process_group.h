#pragma once
// Processes that train one model together: each has the whole model on a device of its own and works on its share of
// every update's batches. What they add up comes to the same bits in all of them, however many they are.

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/check.h"

namespace vkformer {

/// How two processes talk; MPI, say. For one thread at a time.
class ProcessLink {
 public:
  virtual ~ProcessLink() = default;
  virtual int rank() const = 0;  ///< this one's number, from 0
  virtual int size() const = 0;  ///< how many there are
  /// Sends bytes to process `other`, which calls this at the same time, and receives what it sends; either may be
  /// empty.
  virtual void exchange(int other, std::span<const std::byte> sent, std::span<std::byte> received) = 0;
};

/// What a process that did its own part hears when another one could not.
class OtherProcessStopped : public Error {
 public:
  using Error::Error;
};

/// All members are called by all processes, in the same order.
class ProcessGroup {
 public:
  /// Of one process, in any thread.
  static ProcessGroup& alone();
  /// `link` must outlive it. Throws Error unless the processes are a power of two.
  explicit ProcessGroup(ProcessLink& link);

  int rank() const { return link_ == nullptr ? 0 : link_->rank(); }
  int size() const { return link_ == nullptr ? 1 : link_->size(); }
  bool leads() const { return rank() == 0; }

  /// Each value becomes the sum of all processes', ((0 + 1) + (2 + 3)) + ..: the same bits for all. Each process sends
  /// and receives 2 (N - 1) / N times the values (recursive halving, then doubling: Thakur, Rabenseifner, Gropp 2005).
  void add(std::span<float> values);
  void add(std::span<double> values);
  /// What process 0 says.
  std::string tell(const std::string& text);
  /// What all processes say, one or several texts each, in their order.
  std::vector<std::string> gather(const std::vector<std::string>& texts);
  std::vector<std::string> gather(const std::string& text) { return gather(std::vector{text}); }
  /// Does this process's part of something, and returns when all have done theirs. What `part` throws is thrown on
  /// when all have heard of it; the others then throw OtherProcessStopped, with its message.
  void together(const std::function<void()>& part);

 private:
  ProcessGroup() = default;
  template <class T>
  void add_in_tree(std::span<T> values);
  std::string exchange_text(int other, const std::string& text);

  ProcessLink* link_ = nullptr;      ///< none of one process
  std::vector<std::byte> received_;  ///< of a sum's addends; kept, since fresh memory is slow
};

}  // namespace vkformer
