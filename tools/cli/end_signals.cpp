#include "tools/cli/end_signals.h"

#include "runtime/check.h"
#include "runtime/host/signals.h"

namespace vkformer {

void catch_end_signals() { host::note_end_signals(); }

void ignore_end_signals() { host::ignore_end_signals(); }

bool end_was_asked() { return host::noted_end_signal() != 0; }

void interrupt_if_asked() {
  if (end_was_asked()) throw Interrupted();
}

void check_no_end_asked(const char* consequence) {
  check(!end_was_asked(), "ended by signal {}; {}", host::noted_end_signal(), consequence);
}

}  // namespace vkformer
