#pragma once
// One conformance case as files that need nothing of this project, for a driver's makers.

#include <filesystem>

#include "runtime/conform/conform.h"

namespace vkformer {

/// Writes the first case of `options` that fails, or the first one when none does, into an existing folder:
/// shader-N.spv, step.bin (the inputs as they lie in memory), expected-N.bin (f32, or i32 where the output is) and
/// case.h, which says how they belong together; tools/cli/pages/kit/main.cpp.in runs them. A failing case is made
/// smaller first, as long as it fails. Gives its result. Throws Error when there is no such case, or a file can't be
/// written.
ConformResult write_bug_kit(Backend& backend, const ConformOptions& options, const std::filesystem::path& folder);

}  // namespace vkformer
