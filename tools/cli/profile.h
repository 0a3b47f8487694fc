#pragma once
// Shader timings for people and for trace viewers.

#include "runtime/backend.h"
#include "runtime/tuning.h"

namespace vkformer {

/// Prints one row a kernel: count, mean, total, GFLOP/s, GB/s, with a roof the larger share of it, and the share of the
/// time; then what replays recorded and allocated. Kernels whose work depends on how full a cache is have no rates. On
/// stderr when stdout carries JSON.
void print_profile(const Program& program, const std::string& title, bool json, const std::optional<Roof>& roof = {});
/// Writes the timings as Chrome trace JSON, which Perfetto opens; one row a program.
void write_trace(const std::vector<std::pair<std::string, const Program*>>& programs, const std::string& file);

}  // namespace vkformer
