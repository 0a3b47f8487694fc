#pragma once
// A device in Python's threads: others go on while it computes, and one at a time has it.

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/backend.h"

namespace vkformer::python {

namespace py = pybind11;

/// A backend, which belongs to one thread at a time, with all that it made.
struct Session {
  std::unique_ptr<Backend> backend;
  std::mutex mutex;
  std::atomic<std::thread::id> owner;

  /// Opens a device (see make_backend()); what users should hear goes to Python's logger "vkformer". `profile`: with
  /// timestamps around each node.
  static std::shared_ptr<Session> open(const std::string& device, bool profile);
};

/// What a profiled program's nodes took in its last run.
struct ProgramTimings {
  std::string program;
  std::vector<Timing> nodes;
};

/// While it lives, this thread has the session and not the GIL. Throws Error for a thread that has it already: a
/// callback of what runs there.
class Running {
 public:
  explicit Running(Session& session);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  py::gil_scoped_release released_;  ///< before others are waited for, until they may go on
  Session& session_;
};

/// Frees what lies on the session's device, when no other thread is at work there.
template <class Free>
void free_on(Session& session, const Free& free) {
  if (session.owner == std::this_thread::get_id()) return free();  // in a callback
  const Running running(session);
  free();
}

/// Ctrl-C and the like, while the GIL is not held: throws what Python's handler raises. Looks ten times a second.
class Interrupts {
 public:
  void check();

 private:
  double looked_ = 0;
};

}  // namespace vkformer::python
