#include "runtime/host/signals.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <semaphore>

#include "runtime/host/windows/console.h"
#include "runtime/host/windows/win32.h"

namespace vkformer::host {

namespace {

std::atomic<int> came = 0;
std::atomic<bool> ignored = false, interrupted = false;
std::counting_semaphore<> told{0};

// Both run on threads of the system's. Who gives FALSE leaves it to the handler before, the first of which ends the
// process.

BOOL WINAPI note_end(DWORD event) {
  const bool keys = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
  if (!ignored && came.exchange(event == CTRL_C_EVENT ? SIGINT : keys ? SIGBREAK : SIGTERM) != 0) return FALSE;
  told.release();
  if (!keys) Sleep(INFINITE);  // the process ends when this does, or after some seconds
  return TRUE;
}

BOOL WINAPI note_interrupt(DWORD event) {
  if (event != CTRL_C_EVENT) return FALSE;
  interrupted = true;
  told.release();
  return TRUE;
}

}  // namespace

void note_end_signals() { SetConsoleCtrlHandler(note_end, TRUE); }

void ignore_end_signals() { ignored = true; }

int noted_end_signal() { return came; }

bool catch_interrupts() { return SetConsoleCtrlHandler(note_interrupt, TRUE) != 0; }

void release_interrupts() { SetConsoleCtrlHandler(note_interrupt, FALSE); }

bool take_interrupt() { return interrupted.exchange(false); }

void forget_control_events() {
  while (told.try_acquire()) {
  }
}

void await_control_event() { static_cast<void>(told.try_acquire_for(std::chrono::seconds(1))); }

}  // namespace vkformer::host
