#include "python/bindings/session.h"

#include <chrono>

#include "runtime/check.h"

namespace vkformer::python {

namespace {

using namespace std::chrono_literals;

}  // namespace

void log_note(const std::string& note) {
  const WithGil gil;
  py::module_::import("logging").attr("getLogger")("vkformer").attr("warning")("%s", note);
}

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

WithoutGil::~WithoutGil() noexcept(false) {
  if (!thread_) return;
  while (is_finalizing()) std::this_thread::sleep_for(1h);  // what the process ends, too, ends with it
  PyEval_RestoreThread(thread_);
}

WithGil::Alive::Alive() { vkformer::check(!is_finalizing(), "Python ends"); }

void Interrupts::check() {
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (now - looked_ < 0.1) return;
  looked_ = now;
  const WithGil gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

std::shared_ptr<Session> Session::open(const std::string& device, bool profile) {
  auto session = std::make_shared<Session>();
  session->backend = make_backend(device, {.profile = profile, .note = log_note});
  session->profile = profile;
  return session;
}

Running::Running(Session& session) : session_(session) {
  vkformer::check(host::process_id() == session.process,
                  "a forked process has no device; open the model in it, or start processes by spawn");
  vkformer::check(session.owner != std::this_thread::get_id(),
                  "this device is at work for the call that called back; call it once that is done");
  Interrupts interrupts;
  while (!session_.mutex.try_lock_for(100ms)) interrupts.check();
  session_.owner = std::this_thread::get_id();
}

Running::~Running() {
  session_.owner = std::thread::id();
  session_.mutex.unlock();
}

}  // namespace vkformer::python
