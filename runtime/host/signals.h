#pragma once
// What asks a process to end.

namespace vkformer::host {

/// From now on SIGINT, SIGTERM and SIGHUP (of Windows: Ctrl-C, Ctrl-Break, and a console that is closed) are noted
/// instead of ending the process; a second one ends it at once. SIGHUP stays ignored where it was (nohup).
void note_end_signals();
/// From now on they are nothing to this process.
void ignore_end_signals();
/// The number of the one that came; 0: none.
int noted_end_signal();

/// Ctrl-C as a request, until it ends the process again as before; false where that can't be.
bool catch_interrupts();
void release_interrupts();
/// Whether it came since the last call.
bool take_interrupt();

}  // namespace vkformer::host
