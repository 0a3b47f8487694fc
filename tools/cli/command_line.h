#pragma once
// The command line: its verbs and flags.

namespace vkformer {

/// Runs the verb that is asked for. Throws UsageError for a command line that is wrong, and what the verb throws.
void run_command_line(int argc, char** argv);

}  // namespace vkformer
