#pragma once
// Ctrl-C while a console is read: reading ends at once, and a thread of its own tells what came.

namespace vkformer::host {

/// Those that came so far count no more.
void forget_control_events();
/// Waits for the thread that tells of one, for a moment at most.
void await_control_event();

}  // namespace vkformer::host
