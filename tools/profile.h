#pragma once
// Shader timings for people and for trace viewers.

#include "runtime/backend.h"

namespace vkformer {

/// Prints one row a kernel: count, mean, total, GFLOP/s, GB/s, share; then what replays recorded and allocated.
void print_profile(const Program& program, const std::string& title);
/// Writes the timings as Chrome trace JSON, which Perfetto opens.
void write_trace(const Program& program, const std::string& file);

}  // namespace vkformer
