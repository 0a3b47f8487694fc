#include "runtime/host/signals.h"

#include <csignal>

namespace vkformer::host {

namespace {

constexpr int end_signals[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t came = 0;
volatile std::sig_atomic_t interrupted = 0;
struct sigaction before_interrupts {};

}  // namespace

void note_end_signals() {
  for (const int signal : end_signals) {
    const auto before = std::signal(signal, [](int number) {
      came = number;
      std::signal(number, SIG_DFL);
    });
    // nohup. (SIGINT is ignored in whatever a script starts in the background, and is caught there all the same.)
    if (signal == SIGHUP && before == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

void ignore_end_signals() {
  for (const int signal : end_signals) std::signal(signal, SIG_IGN);
}

int noted_end_signal() { return came; }

bool catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigemptyset(&action.sa_mask);  // no SA_RESTART: waiting for a line ends, too
  return sigaction(SIGINT, &action, &before_interrupts) == 0;
}

void release_interrupts() { sigaction(SIGINT, &before_interrupts, nullptr); }

bool take_interrupt() {
  const bool taken = interrupted != 0;
  interrupted = 0;
  return taken;
}

}  // namespace vkformer::host
