#pragma once
// What tests of measured choices and of the tuner have in common.

#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "tests/program_helpers.h"

namespace vkformer::testing {

inline DeviceFacts some_device() {
  DeviceFacts facts;
  facts.name = "test device";
  facts.driver = "test driver 1.2";
  facts.driver_version = 12;
  facts.kind = DeviceKind::cpu;
  facts.subgroup_size = facts.min_subgroup_size = facts.max_subgroup_size = 8;
  facts.subgroup_shuffle = facts.full_subgroups = facts.int64 = true;
  facts.max_workgroup_size = 256;
  facts.max_workgroups[0] = facts.max_workgroups[1] = facts.max_workgroups[2] = 65535;
  facts.shared_memory = 32768;
  facts.max_allocation = uint64_t{1} << 30;
  facts.cpu_threads = 2;
  facts.kernels = "fedcba9876543210";
  return facts;
}

/// x [37, 65] w [65, 29] -> y; two nodes, both with several candidates everywhere.
inline Graph small_graph() {
  Graph graph;
  const Value x = graph.input("x", {37, 65});
  const Value norm = layer_norm(graph, x, graph.input("gain", {65}), {}, 1e-5f);
  graph.mark_output(matmul(graph, norm, graph.input("w", {65, 29})), "y");
  return graph;
}

inline const RampInputs small_inputs = {{"x", 37 * 65}, {"gain", 65}, {"w", 65 * 29}};

inline void fill(Program& program) { fill_with_ramps(program, small_inputs); }

inline std::vector<float> run(Program& program) { return run_on_ramps(program, small_inputs); }

inline std::vector<std::string_view> candidates(const Node& node, const DeviceFacts& facts) {
  return node.op->candidates(node, facts);
}

}  // namespace vkformer::testing
