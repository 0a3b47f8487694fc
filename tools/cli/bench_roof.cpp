// `vkformer bench --roof`: what the device can do at most, kept for the profiles.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/measure.h"
#include "runtime/split/split_backend.h"
#include "shaders/matmul/matmul.h"
#include "shaders/roof/roof.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"
#include "tools/cli/tune.h"

namespace vkformer {

namespace {

/// The least seconds of the program's only node.
double least_seconds(WarmUp& warm_up, Program& program, int repetitions) {
  warm_up(program);
  double least = 1e30;
  for (int r = 0; r < std::max(repetitions, 3); ++r) {
    program.run();
    least = std::min(least, node_seconds(program)[0]);
  }
  return least;
}

/// Far larger than caches, a small part of the memory.
int64_t copy_elements(const DeviceFacts& facts) {
  const uint64_t bytes = std::min<uint64_t>(facts.memory_free / 8, facts.max_allocation / 4);
  return static_cast<int64_t>(std::clamp<uint64_t>(bytes, uint64_t{1} << 20, uint64_t{256} << 20) / 4);
}

/// Bytes a second by each way of copying.
std::vector<std::pair<std::string, double>> copy_rates(Backend& backend, WarmUp& warm_up, int repetitions) {
  const Shape shape{copy_elements(backend.facts())};
  Graph graph;
  const Value target = graph.persistent("target", shape);
  roof_copy(graph, target, graph.persistent("x", shape));
  StoreLayout layout;
  for (const char* name : {"target", "x"})
    layout.add_block(std::string("block of ") + name, std::vector<StoreLayout::Part>{{name, {shape}}});
  const auto store = backend.make_store(layout);
  const Node& node = graph.nodes().front();
  std::vector<std::pair<std::string, double>> rates;
  for (std::string_view candidate : node.op->candidates(node, backend.facts())) {
    const auto program = backend.compile(graph, store, {.candidate = std::string(candidate)});
    rates.emplace_back(candidate, node.op->cost(node).bytes / least_seconds(warm_up, *program, repetitions));
  }
  return rates;
}

double multiply_add_rate(Backend& backend, WarmUp& warm_up, int repetitions) {
  const Shape shape{int64_t{1} << 18, 16};
  StoreLayout layout;
  layout.add_block("block of x", std::vector<StoreLayout::Part>{{"x", {shape}}});
  const auto store = backend.make_store(layout);
  // As many steps as take about this long: the reading of x, and the launch, are then nothing beside them.
  constexpr double enough = 0.05;
  for (int64_t steps = 64;; steps *= 8) {
    Graph graph;
    graph.mark_output(roof_multiply_add(graph, graph.persistent("x", shape), steps), "y");
    const auto program = backend.compile(graph, store);
    const double seconds = least_seconds(warm_up, *program, repetitions);
    if (seconds > enough || steps >= int64_t{1} << 24)
      return graph.nodes().front().op->cost(graph.nodes().front()).flops / seconds;
  }
}

/// Of products of 16-bit operands summed in f32, by the best of the matmul kernels for matrix cores, those of subgroups
/// or those of workgroups: what they reach, not a bound.
double matrix_rate(Backend& backend, WarmUp& warm_up, DType dtype, bool workgroups, int repetitions) {
  const DeviceFacts& facts = backend.facts();
  constexpr double enough = 0.02;
  for (int64_t side = 512;; side *= 2) {
    const TensorType type{Shape{side, side}, dtype};
    StoreLayout layout;
    layout.add_block("operands", std::vector<StoreLayout::Part>{{"a", type}, {"b", type}});
    const auto store = backend.make_store(layout);
    std::vector<float> values(static_cast<size_t>(side * side));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) / 97;
    for (const char* name : {"a", "b"}) store->write(name, values);
    Graph graph;
    const Value a = graph.persistent("a", type.shape, Role::parameter, type.dtype);
    const Value b = graph.persistent("b", type.shape, Role::parameter, type.dtype);
    graph.mark_output(matmul(graph, a, b), "y");
    const Node& node = graph.nodes().front();
    double least = 1e30;
    for (std::string_view candidate : node.op->candidates(node, facts))
      if (candidate.starts_with("matrix") && candidate.starts_with("matrix_workgroup") == workgroups) {
        const auto program = backend.compile(graph, store, {.candidate = std::string(candidate)});
        least = std::min(least, least_seconds(warm_up, *program, repetitions));
      }
    const bool room = 16 * side * side <= static_cast<int64_t>(facts.max_allocation);
    if (least > enough || side >= 8192 || !room) return node.op->cost(node).flops / least;
  }
}

/// The same in registers alone: the bound.
double matrix_roof(Backend& backend, WarmUp& warm_up, DType dtype, int repetitions) {
  const auto store = backend.make_store({});
  constexpr double enough = 0.02;
  for (int64_t steps = 1024;; steps *= 4) {
    Graph graph;
    graph.mark_output(roof_matrix(graph, graph.input("x", {16384}, dtype), steps), "y");
    const auto program = backend.compile(graph, store);
    program->write("x", std::vector<float>(16384, 0.5F));
    const double seconds = least_seconds(warm_up, *program, repetitions);
    if (seconds > enough || steps >= int64_t{1} << 20)
      return roof_matrix_flops(graph.nodes().front(), backend.facts()) / seconds;
  }
}

/// Why there is no such rate; empty: there is.
std::string no_matrix_rate(const DeviceFacts& facts, DType type) {
  if (!facts.cooperative_matrix) return "the device has none";
  if (std::ranges::count(facts.matrix_kernels, type) == 0) return "no such kernels in this build";
  return facts.has_matrix_cores(type) ? "" : "the device offers no such products that kernels can use";
}

}  // namespace

void bench_roof(const BenchFlags& flags) {
  if (devices_of(flags.common.device).size() > 1) throw UsageError("bench --roof takes one device");
  auto backend = open_backend(flags.common, {.profile = true}, true);
  check(backend->facts().timestamp_period > 0, "{} has no timestamps to measure with; choose another --device",
        backend->facts().name);
  if (flags.common.tuning != "none") tuning_file(flags.common, backend->facts());
  WarmUp warm_up(backend->facts());
  Roof roof;
  nlohmann::json out = {{"device", backend->facts().name}, {"driver", backend->facts().driver}};
  const bool json = flags.output == "json";
  for (const auto& [name, rate] : copy_rates(*backend, warm_up, flags.repetitions)) {
    roof.bytes_per_second = std::max(roof.bytes_per_second, rate);
    out["copy"][name] = rate;
    const std::string what = name == "transfer" ? "vkCmdCopyBuffer" : "kernel " + name;
    if (!json) print("{:<40} {:>12.2f} GB/s\n", "copy, " + what, rate * 1e-9);
  }
  out["multiply_add_f32"] = roof.flops_per_second = multiply_add_rate(*backend, warm_up, flags.repetitions);
  if (!json)
    print("{:<40} {:>12.2f} GFLOP/s\n{:<40} not measured: no kernel computes in f16\n", "multiply-add, f32",
          roof.flops_per_second * 1e-9, "multiply-add, f16");
  for (DType type : {DType::f16, DType::bf16}) {
    const std::string what = fmt::format("matrix cores, product of {} operands", name_of(type));
    const std::string reason = no_matrix_rate(backend->facts(), type);
    if (!reason.empty()) {
      if (!json) print("{:<40} not measured: {}\n", what, reason);
      continue;
    }
    const double bound = matrix_roof(*backend, warm_up, type, flags.repetitions);
    const double rate = matrix_rate(*backend, warm_up, type, false, flags.repetitions);
    if (json) out[fmt::format("matrix_roof_{}", name_of(type))] = bound;
    if (json) out[fmt::format("matrix_cores_{}", name_of(type))] = rate;
    if (!json)
      print("{:<40} {:>12.2f} GFLOP/s\n{:<40} {:>12.2f} GFLOP/s\n",
            fmt::format("matrix cores, {} in registers", name_of(type)), bound * 1e-9, what, rate * 1e-9);
    double& kept = roof.matrix_flops_per_second[type] = std::max(bound, rate);
    if (!backend->facts().has_workgroup_matrices(type)) continue;
    const double of_workgroups = matrix_rate(*backend, warm_up, type, true, flags.repetitions);
    kept = std::max(kept, of_workgroups);  // products of subgroups may not reach all instructions
    if (json) out[fmt::format("workgroup_matrices_{}", name_of(type))] = of_workgroups;
    if (!json) print("{:<40} {:>12.2f} GFLOP/s\n", "the same, of whole workgroups", of_workgroups * 1e-9);
  }
  if (json) print("{}\n", out.dump(1));
  if (flags.common.tuning == "none") return;
  Tuning measured;
  measured.roof = roof;
  keep_tuning(*backend, flags.common, measured);
}

}  // namespace vkformer
