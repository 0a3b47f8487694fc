#include "tools/cli/end_signals.h"

#include <csignal>

#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr int end_signals[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t came = 0;

}  // namespace

void catch_end_signals() {
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

bool end_was_asked() { return came != 0; }

void interrupt_if_asked() {
  if (end_was_asked()) throw Interrupted();
}

void check_no_end_asked(const char* consequence) {
  check(came == 0, "ended by signal {}; {}", static_cast<int>(came), consequence);
}

}  // namespace vkformer
