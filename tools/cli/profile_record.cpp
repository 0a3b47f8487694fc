#include "tools/cli/profile_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "tools/cli/pipeline_json.h"

namespace vkformer {

namespace {

using nlohmann::json;

constexpr double us = 1e6;

/// To three digits behind the point: nanoseconds of microseconds.
double rounded(double value) { return std::round(value * 1e3) / 1e3; }

template <class T>
double median(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return static_cast<double>(*middle);
}

json spread(const std::vector<double>& seconds) {
  if (seconds.empty()) return nullptr;
  const auto [least, most] = std::ranges::minmax(seconds);
  return {{"least", rounded(us * least)},
          {"median", rounded(us * median(seconds))},
          {"most", rounded(us * most)},
          {"runs", seconds.size()}};
}

/// What the host knows of the runs.
void add_runs(json& program, std::vector<RunTimes> runs) {
  std::ranges::sort(runs, {}, &RunTimes::begin);
  std::vector<double> host, plain, device, latency, between;
  for (size_t i = 0; i < runs.size(); ++i) {
    (runs[i].timed ? host : plain).push_back(runs[i].host);
    if (runs[i].timed) device.push_back(runs[i].device);
    if (runs[i].latency) latency.push_back(*runs[i].latency);
    if (i > 0) between.push_back(runs[i].begin - runs[i - 1].begin - runs[i - 1].host);
  }
  program.update({{"host", spread(host)},
                  {"plain", spread(plain)},
                  {"device", spread(device)},
                  {"latency", spread(latency)},
                  {"between", spread(between)}});
}

/// A row of the table of kernels; seconds.
struct KernelSums {
  std::string_view op;
  int64_t dispatches = 0;
  double median = 0, least = 0, first_half = 0, second_half = 0;
  Cost cost;
  std::set<std::string> matrix;                    ///< types of operands
  std::optional<RoofTimes> at_roof = RoofTimes{};  ///< none: of some of it, or there is no roof
};

void add_to(KernelSums& sums, const Timing& timing, const std::optional<Roof>& roof) {
  const auto& recent = timing.recent;
  const auto half = recent.begin() + static_cast<std::ptrdiff_t>((recent.size() + 1) / 2);
  const double first = *std::min_element(recent.begin(), half);
  const double second = half == recent.end() ? first : *std::min_element(half, recent.end());
  sums.op = timing.op;
  ++sums.dispatches;
  sums.median += median(recent);
  sums.least += std::min(first, second);
  sums.first_half += first;
  sums.second_half += second;
  sums.cost += timing.cost;
  if (timing.matrix) sums.matrix.emplace(name_of(*timing.matrix));
  const auto at_roof = roof ? times_at_roof(*roof, timing.cost, timing.matrix) : std::nullopt;
  sums.at_roof =
      at_roof && sums.at_roof
          ? std::optional(RoofTimes{sums.at_roof->copy + at_roof->copy, sums.at_roof->arithmetic + at_roof->arithmetic})
          : std::nullopt;
}

/// Of the times at the roof in the medians.
json shares_of(const KernelSums& row) {
  if (!row.at_roof || row.cost.at_most || row.cost.bytes + row.cost.flops == 0) return nullptr;
  return {{"copy", row.at_roof->copy / row.median}, {"arithmetic", row.at_roof->arithmetic / row.median}};
}

void add_dispatches(json& program, const std::vector<Timing>& timings, const std::optional<Roof>& roof) {
  std::map<std::string, KernelSums> sums;
  for (const Timing& timing : timings) add_to(sums[kernel_title(timing)], timing, roof);
  std::map<std::string, size_t> number;
  auto kernels = json::array();
  for (const auto& [title, row] : sums) {
    number.emplace(title, kernels.size());
    kernels.push_back({{"name", title},
                       {"op", row.op},
                       {"dispatches", row.dispatches},
                       {"us", rounded(us * row.median)},
                       {"least", rounded(us * row.least)},
                       {"first_half", rounded(us * row.first_half)},
                       {"second_half", rounded(us * row.second_half)},
                       {"flops", row.cost.flops},
                       {"bytes", row.cost.bytes},
                       {"at_most", row.cost.at_most},
                       {"matrix", row.matrix},
                       {"of_roof", shares_of(row)}});
  }
  std::map<std::string, size_t> scopes;
  json columns = {{"kernel", json::array()},    {"scope", json::array()}, {"start", json::array()},
                  {"last", json::array()},      {"us", json::array()},    {"barrier", json::array()},
                  {"submission", json::array()}};
  for (const Timing& timing : timings) {
    columns["kernel"].push_back(number.at(kernel_title(timing)));
    columns["scope"].push_back(scopes.try_emplace(timing.scope, scopes.size()).first->second);
    columns["start"].push_back(rounded(us * timing.start));
    columns["last"].push_back(rounded(us * timing.seconds));
    columns["us"].push_back(rounded(us * median(timing.recent)));
    columns["barrier"].push_back(timing.barrier ? 1 : 0);
    columns["submission"].push_back(timing.submission);
  }
  std::vector<std::string> names(scopes.size());
  for (const auto& [name, index] : scopes) names[index] = name;
  program.update({{"kernels", std::move(kernels)}, {"dispatches", std::move(columns)}, {"scopes", std::move(names)}});
}

json memory_of(const Program& program, const std::vector<Timing>& timings) {
  const MemoryPlan& plan = program.plan();
  const auto alive_at = [&](int node) {
    int64_t bytes = 0;
    for (const PlannedItem& item : plan.items)
      if (item.first_node <= node && node <= item.last_node) bytes += item.bytes;
    return bytes;
  };
  std::map<int, int64_t> known;
  auto alive = json::array();
  int peak = -1, node = 0;
  for (const Timing& timing : timings) {
    if (timing.node >= 0) node = timing.node;  // copies to the host come last and hold nothing more
    if (!known.contains(node)) known[node] = alive_at(node);
    if (peak < 0 || known[node] > known[peak]) peak = node;
    alive.push_back(known[node]);
  }
  auto owners = json::array();
  int64_t rest = 0, others = 0;
  for (const PlannedItem& item : plan.items) {  // the biggest first
    if (item.first_node > peak || item.last_node < peak) continue;
    if (owners.size() < 24)
      owners.push_back({item.name, item.bytes});
    else
      rest += item.bytes, ++others;
  }
  if (others > 0) owners.push_back({fmt::format("{} smaller ones", others), rest});
  return {{"temporaries", plan.arena_bytes()}, {"inputs", plan.step_bytes}, {"outputs", plan.readback_bytes},
          {"live_set", plan.live_set_bytes},   {"alive", std::move(alive)}, {"peak", std::move(owners)}};
}

json pipeline_rows() {
  auto rows = json::array();
  for (const PipelineRecord& record : pipeline_log()) rows.push_back(pipeline_json(record));
  return rows;
}

}  // namespace

std::string kernel_title(const Timing& timing) {
  if (timing.op.empty() || timing.op == timing.kernel) return std::string(timing.kernel);
  return fmt::format("{} ({})", timing.kernel, timing.op);
}

nlohmann::json profile_record(const Backend& backend, const std::optional<Roof>& roof) {
  const DeviceFacts& facts = backend.facts();
  json record = {{"vkformer", VKFORMER_VERSION},
                 {"device", facts.name},
                 {"driver", facts.driver},
                 {"timestamp_ns", facts.timestamp_period},
                 {"roof", nullptr},
                 {"programs", json::array()},
                 {"pipelines", pipeline_rows()}};
  if (roof) record["roof"] = roof_json(*roof);
  return record;
}

nlohmann::json program_record(const std::string& title, const Program& program, const std::optional<Roof>& roof) {
  json record = {{"name", title}};
  const std::vector<Timing> timings = program.timings();
  if (timings.empty()) return record;
  const Counters counters = program.counters();
  record.update({{"runs", counters.runs},
                 {"submissions", counters.segments},
                 {"barriers", counters.commands.barriers},
                 {"recording", rounded(us * counters.recording_seconds)}});
  add_runs(record, program.run_times());
  add_dispatches(record, timings, roof);
  record["memory"] = memory_of(program, timings);
  return record;
}

}  // namespace vkformer
