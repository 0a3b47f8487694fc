#pragma once
// A device in Python's threads: others go on while it computes, and one at a time has it.

#include <pybind11/pybind11.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <variant>

#include "runtime/backend.h"
#include "runtime/host/machine.h"

namespace vkformer::python {

namespace py = pybind11;

/// The interpreter is ending: only the thread that ends it may have the GIL once more.
bool is_finalizing();

/// What users should hear goes to Python's logger "vkformer", as a warning.
void log_note(const std::string& note);

/// While it lives, this thread has not the GIL, whether it had or not. A thread that is still at work when the
/// interpreter ends never comes back from it.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyGILState_Check() && !is_finalizing() ? PyEval_SaveThread() : nullptr) {}
  ~WithoutGil() noexcept(false);  ///< a thread may be ended in it
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* thread_;
};

/// While it lives, this thread has the GIL. Throws Error when the interpreter is ending.
class WithGil {
  struct Alive {
    Alive();
  };
  Alive alive_;
  py::gil_scoped_acquire acquired_;
};

/// Ctrl-C and the like, while the GIL is not held: throws what Python's handler raises. Looks ten times a second.
class Interrupts {
 public:
  void check();

 private:
  double looked_ = 0;
};

/// A backend, which belongs to one thread at a time, with all that it made.
struct Session {
  std::unique_ptr<Backend> backend;
  std::timed_mutex mutex;
  std::atomic<std::thread::id> owner;
  bool profile = false;
  const int64_t process = host::process_id();  ///< a forked one has no device

  /// Opens a device (see make_backend()); what users should hear goes to Python's logger "vkformer". `profile`: with
  /// timestamps around each node.
  static std::shared_ptr<Session> open(const std::string& device, bool profile);
};

/// A number, or what make_backend() takes.
using DeviceName = std::variant<std::string, int64_t>;
inline std::string text_of(const DeviceName& name) {
  return std::holds_alternative<int64_t>(name) ? std::to_string(std::get<int64_t>(name)) : std::get<std::string>(name);
}

/// What a profiled program's nodes took in its last run.
struct ProgramTimings {
  std::string program;
  std::vector<Timing> nodes;
};

/// While it lives, this thread has the session and not the GIL. Throws Error for a thread that has it already, a
/// callback of what runs there, and what Ctrl-C raises while others are waited for.
class Running {
 public:
  explicit Running(Session& session);
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  WithoutGil without_;  ///< before others are waited for, until they may go on
  Session& session_;
};

/// Frees what lies on the session's device, when no other thread is at work there.
template <class Free>
void free_on(Session& session, const Free& free) {
  if (host::process_id() != session.process) return;
  if (session.owner == std::this_thread::get_id()) return free();  // in a callback
  const WithoutGil without;
  const std::lock_guard lock(session.mutex);
  free();
}

}  // namespace vkformer::python
