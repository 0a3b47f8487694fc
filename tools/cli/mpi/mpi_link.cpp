#include "tools/cli/mpi/mpi_link.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace vkformer {

namespace {

// MPI ends all processes when a call fails, so none is looked at.
class MpiLink : public ProcessLink {
 public:
  MpiLink() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiLink() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void exchange(int other, std::span<const std::byte> sent, std::span<std::byte> received) override {
    meet(other);
    constexpr size_t most = size_t{1} << 30;  // MPI counts in int
    for (bool more = true; more;) {
      const auto out = sent.first(std::min(sent.size(), most));
      const auto in = received.first(std::min(received.size(), most));
      MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_BYTE, other, data, in.data(),
                   static_cast<int>(in.size()), MPI_BYTE, other, data, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      sent = sent.subspan(out.size());
      received = received.subspan(in.size());
      more = !sent.empty() || !received.empty();
    }
  }

 private:
  enum Tag : int { ready, data };

  /// Waits for the other process without taking a core from it, as MPI does: one that evaluates may need long, and
  /// where the device is a CPU, all cores.
  void meet(int other) {
    using namespace std::chrono;
    MPI_Request requests[2];
    MPI_Irecv(nullptr, 0, MPI_BYTE, other, ready, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(nullptr, 0, MPI_BYTE, other, ready, MPI_COMM_WORLD, &requests[1]);
    const auto begin = steady_clock::now();
    for (int done = 0;;) {
      MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
      if (done) return;
      const auto waited = steady_clock::now() - begin;
      if (waited > milliseconds(1)) std::this_thread::sleep_for(std::min<nanoseconds>(waited / 16, milliseconds(2)));
    }
  }

  int rank_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<ProcessLink> join_mpi() { return std::make_unique<MpiLink>(); }

}  // namespace vkformer
