#pragma once
// Shader timings for people and for trace viewers.

#include "runtime/backend.h"

namespace vkformer {

/// Prints one row a kernel: count, mean, total, GFLOP/s, GB/s, share; then what replays recorded and allocated.
/// On stderr when stdout carries JSON.
void print_profile(const Program& program, const std::string& title, bool json);
/// Writes the timings as Chrome trace JSON, which Perfetto opens; one row a program.
void write_trace(const std::vector<std::pair<std::string, const Program*>>& programs, const std::string& file);

}  // namespace vkformer
