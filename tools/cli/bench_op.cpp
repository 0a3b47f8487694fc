// `vkformer bench --op`: the time of one op's kernels on tensors of any shape.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <deque>

#include <fmt/ranges.h>

#include "runtime/check.h"
#include "runtime/conform/conform.h"
#include "runtime/measure.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// Whether the whole text is a number, `value` then.
bool reads_as(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool reads_as(std::string_view text, double& value) {
  const std::string number(text);
  char* end = nullptr;
  value = std::strtod(number.c_str(), &end);
  return !number.empty() && *end == '\0' && std::isfinite(value);
}

/// "8x256x1152", "12x64:i32:0:64" (dtype and value range), or "-" for an absent input.
CaseInput parse_input(const std::string& text) {
  CaseInput input;
  if (text == "-") {
    input.absent = true;
    return input;
  }
  const std::vector<std::string_view> parts = parts_of(text, ':');
  std::vector<int64_t> dimensions;
  bool right = parts.size() <= 4;
  for (const std::string_view part : parts_of(parts[0], 'x')) {
    dimensions.push_back(0);
    right = right && reads_as(part, dimensions.back()) && dimensions.back() > 0;
  }
  if (parts.size() > 2) right = right && reads_as(parts[2], input.low);
  if (parts.size() > 3) right = right && reads_as(parts[3], input.high);
  if (!right) throw UsageError(fmt::format("--input {} is not a shape like 8x256x64 or 8x256:i32:0:64", text));
  input.type = {Shape(dimensions)};
  if (parts.size() > 1) input.type.dtype = parts[1] == "i32" ? DType::i32 : float_type(std::string(parts[1]));
  return input;
}

/// Throws UsageError for what is no attribute of the op. Its cases know them.
void check_attribute(const Op& op, std::string_view given) {
  std::vector<std::string_view> known;
  for (const Case& c : op.cases())
    for (const auto& [name, value] : c.attributes.entries())
      if (std::ranges::find(known, name) == known.end()) known.push_back(name);
  if (std::ranges::find(known, given) == known.end())
    throw UsageError(
        fmt::format("{} has no attribute '{}'; {}", op.name, given,
                    known.empty() ? "it has none" : fmt::format("its attributes are {}", fmt::join(known, ", "))));
}

}  // namespace

void bench_op(const BenchFlags& flags) {
  const Op* op = find_op(flags.op);
  if (!op) throw UsageError(fmt::format("there is no op '{}'; `vkformer ops` lists them", flags.op));
  if (flags.inputs.empty())
    throw UsageError(
        fmt::format("--op {} needs its inputs in their order, each as --input SHAPE, like 1024x1024", flags.op));
  std::deque<std::string> names;  // attribute names must outlive the graph
  std::vector<std::pair<std::string_view, double>> entries;
  Case c;
  for (const std::string& text : flags.attributes) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) throw UsageError(fmt::format("--attr {} is not name=number", text));
    names.push_back(text.substr(0, equals));
    check_attribute(*op, names.back());
    double number = 0;
    if (!reads_as(std::string_view(text).substr(equals + 1), number))
      throw UsageError(fmt::format("--attr {} is not name=number", text));
    entries.emplace_back(names.back(), number);
  }
  Attributes attributes;
  for (const auto& [name, value] : entries) attributes.set(name, value);
  std::vector<StoreLayout::Part> parts;
  for (const std::string& text : flags.inputs) {
    c.inputs.push_back(parse_input(text));
    if (!c.inputs.back().absent) parts.push_back({fmt::format("input{}", parts.size()), c.inputs.back().type});
  }
  // Inputs that are not named are absent, so that the op's own rule says what is missing.
  for (const Case& known : op->cases())
    c.inputs.resize(std::max(c.inputs.size(), known.inputs.size()), {.absent = true});
  StoreLayout layout;
  layout.add_block("inputs", parts);
  auto backend = open_backend(flags.common, {.profile = true});
  check(backend->facts().timestamp_period > 0, "{} has no timestamps to measure with; choose another --device",
        backend->facts().name);
  auto store = backend->make_store(layout);
  Graph graph;
  Values inputs;
  size_t next = 0;
  for (const CaseInput& input : c.inputs) {
    if (input.absent) {
      inputs.push_back({});
      continue;
    }
    const StoreLayout::Part& part = parts[next++];
    if (input.type.dtype != DType::i32) {
      const HostTensor tensor = random_tensor(input, next);
      store->write(part.name, std::vector<float>(tensor.data.begin(), tensor.data.end()));
      inputs.push_back(graph.persistent(part.name, input.type.shape, Role::parameter, input.type.dtype));
    } else {
      inputs.push_back(graph.input(part.name, input.type.shape, DType::i32));
    }
  }
  const Values outputs = graph.add(*op, inputs, attributes);
  graph.mark_output(outputs.front(), "output");
  const Node node = graph.nodes().front();
  std::vector<std::string_view> candidates{""};
  if (op->candidates) candidates = op->candidates(node, backend->facts());
  const std::string_view first = candidates.front();
  std::string only = flags.candidate;
  if (only == "first") only = first;
  // A GPU would take seconds for what was written for CPUs, and the other way round.
  const KernelRoom elsewhere = backend->facts().is_cpu() ? KernelRoom::gpu : KernelRoom::cpu;
  if (only.empty() && op->room)
    std::erase_if(candidates, [&](std::string_view name) { return name != first && op->room(name) == elsewhere; });
  if (only == "all") only.clear();
  if (!only.empty() && std::find(candidates.begin(), candidates.end(), only) == candidates.end())
    throw UsageError(fmt::format("kernel '{}' is not legal here; there are: {}", only, fmt::join(candidates, ", ")));
  // All compilers run before the first measurement: a GPU that waits for one falls asleep.
  for (std::string_view candidate : candidates)
    if (only.empty() || candidate == only)
      backend->make_pipelines(graph, layout, {.candidate = std::string(candidate)});
  print("{:<24} {:>12} {:>12} {:>10} {:>10}\n", "kernel", "best ms", "median ms", "GFLOP/s", "GB/s");
  WarmUp warm_up(backend->facts());
  for (std::string_view candidate : candidates) {
    if (!only.empty() && candidate != only) continue;
    auto program = backend->compile(graph, store, {.candidate = std::string(candidate)});
    for (size_t i = 0; i < c.inputs.size(); ++i)
      if (!c.inputs[i].absent && c.inputs[i].type.dtype == DType::i32) {
        const HostTensor tensor = random_tensor(c.inputs[i], i);
        program->write(graph.info(inputs[i]).name, std::vector<int32_t>(tensor.data.begin(), tensor.data.end()));
      }
    std::vector<double> seconds;
    warm_up(*program);
    for (int r = 0; r < flags.repetitions; ++r) {
      program->run();
      seconds.push_back(node_seconds(*program)[0]);
    }
    std::sort(seconds.begin(), seconds.end());
    const Cost cost = op->cost ? op->cost(node) : Cost{};
    print("{:<24} {:>12.4f} {:>12.4f}", candidate.empty() ? op->name : candidate, seconds.front() * 1e3,
          seconds[seconds.size() / 2] * 1e3);
    if (!cost.at_most)
      print(" {:>10.2f} {:>10.2f}", cost.flops / seconds.front() * 1e-9, cost.bytes / seconds.front() * 1e-9);
    print("\n");
    flush_output();  // the next kernel may take long, or never end
  }
}

}  // namespace vkformer
