#pragma once
// SIGINT, SIGTERM and SIGHUP for work that must not end just anywhere.

namespace vkformer {

/// From now on they are noted instead of ending the process; a second one ends it at once. SIGHUP stays ignored where
/// it was (nohup).
void catch_end_signals();
/// From now on they are nothing to this process.
void ignore_end_signals();
/// Whether one has come.
bool end_was_asked();
/// Throws it when one has come, out of work that begins again when it is asked for again.
struct Interrupted {};
void interrupt_if_asked();
/// Throws Error when one has come, with what that means for the work: "nothing was written".
void check_no_end_asked(const char* consequence);

}  // namespace vkformer
