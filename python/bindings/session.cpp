#include "python/bindings/session.h"

#include <chrono>

#include "runtime/check.h"

namespace vkformer::python {

namespace {

void log_note(const std::string& note) {
  const py::gil_scoped_acquire gil;
  py::module_::import("logging").attr("getLogger")("vkformer").attr("warning")("%s", note);
}

}  // namespace

std::shared_ptr<Session> Session::open(const std::string& device, bool profile) {
  auto session = std::make_shared<Session>();
  session->backend = make_backend(device, {.profile = profile, .note = log_note});
  return session;
}

Running::Running(Session& session) : session_(session) {
  vkformer::check(session.owner != std::this_thread::get_id(),
                  "this device is at work for the call that called back; call it once that is done");
  session_.mutex.lock();
  session_.owner = std::this_thread::get_id();
}

Running::~Running() {
  session_.owner = std::thread::id();
  session_.mutex.unlock();
}

void Interrupts::check() {
  const double now = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  if (now - looked_ < 0.1) return;
  looked_ = now;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

}  // namespace vkformer::python
