#include "tools/cli/profile_advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace vkformer {

namespace {

using nlohmann::json;

std::string time_text(double us) {
  return us >= 1e6   ? fmt::format("{:.2f} s", us * 1e-6)
         : us >= 1e3 ? fmt::format("{:.2f} ms", us * 1e-3)
                     : fmt::format("{:.1f} us", us);
}

std::string bytes_text(double bytes) {
  return bytes >= 1e9 ? fmt::format("{:.2f} GB", bytes * 1e-9) : fmt::format("{:.1f} MB", bytes * 1e-6);
}

/// What timestamps cost, and what they cannot tell apart.
void judge_timestamps(const json& record, const json& program, std::vector<std::string>& lines) {
  if (program["plain"].is_object()) {
    const double timed = program["host"]["median"], plain = program["plain"]["median"];
    const std::string cost = timed > plain ? fmt::format("timestamps cost {:.1f} %", 100 * (timed / plain - 1))
                                           : "timestamps cost less than runs differ by themselves";
    lines.push_back(fmt::format("{}: {} with them, {} without (medians of {} and {} runs)", cost, time_text(timed),
                                time_text(plain), program["host"]["runs"].get<size_t>(),
                                program["plain"]["runs"].get<size_t>()));
  }
  const double tick = record["timestamp_ns"].get<double>() * 1e-3;
  const json& times = program["dispatches"]["us"];
  const auto brief = std::ranges::count_if(times, [&](const json& time) { return time.get<double>() < 10 * tick; });
  if (brief > 0)
    lines.push_back(
        fmt::format("{} of {} dispatches are shorter than ten ticks of the device's clock ({}): their times are rough",
                    brief, times.size(), time_text(tick)));
}

/// What the device waits for. Timestamps make dispatches wait for each other, so runs without them tell.
void judge_gaps(const json& program, double busy, std::vector<std::string>& lines) {
  const size_t dispatches = program["dispatches"]["us"].size();
  const double latency = program["latency"].is_object() ? program["latency"]["median"].get<double>() : 0;
  if (program["plain"].is_object()) {
    const double run = program["plain"]["median"].get<double>() - latency, gaps = run - busy;
    const double scatter = program["plain"]["median"].get<double>() - program["plain"]["least"].get<double>();
    if (gaps > std::max(0.1 * run, scatter))
      lines.push_back(fmt::format(
          "nothing runs in {:.0f} % of the device's time: {} among {} dispatches, {} each; fewer and larger ones (a "
          "larger batch, fused ops) are the way",
          100 * gaps / run, time_text(gaps), dispatches, time_text(gaps / static_cast<double>(dispatches))));
    if (latency > 0.1 * run)
      lines.push_back(fmt::format("{} pass from a submission to the first dispatch", time_text(latency)));
  }
  if (!program["between"].is_object()) return;
  if (const double between = program["between"]["median"]; between > 0.1 * (between + busy))
    lines.push_back(
        fmt::format("between two runs the host works for {}: data, other programs, reading back", time_text(between)));
}

/// How near the roof the kernels are that take the time.
void judge_kernels(const json& record, const json& program, double busy, std::vector<std::string>& lines) {
  const json& roof = record["roof"];
  if (roof.is_null())
    lines.emplace_back("what this device can do at most was not measured: `vkformer bench --roof`, once");
  for (const json& kernel : program["kernels"]) {
    const double time = kernel["us"];
    if (time < 0.1 * busy || roof.is_null() || kernel["at_most"].get<bool>()) continue;
    const std::string name = kernel["name"];
    const bool matrix = !kernel["matrix"].empty();
    if (kernel["of_roof"].is_null()) {
      if (matrix)
        lines.push_back(
            fmt::format("{} takes {:.0f} % of the time on matrix cores, whose roof was not measured: "
                        "`vkformer bench --roof`, once",
                        name, 100 * time / busy));
      continue;
    }
    const double copied = kernel["of_roof"]["copy"], computed = kernel["of_roof"]["arithmetic"];
    const bool by_bytes = copied >= computed;
    const double share = std::max(copied, computed);
    const std::string does = by_bytes
                                 ? fmt::format("moves {} at {:.0f} % of copy", bytes_text(kernel["bytes"]), 100 * share)
                                 : fmt::format("computes at {:.0f} % of the {} roof", 100 * share,
                                               matrix ? "matrix cores'" : "multiply-add");
    if (share > 0.8)
      lines.push_back(fmt::format("{} {}: little to gain", name, does));
    else if (share < 0.4)
      lines.push_back(
          fmt::format("{} takes {:.0f} % of the time and {}: the first place to look (`vkformer tune` measures "
                      "the other kernels)",
                      name, 100 * time / busy, does));
  }
}

void judge_memory(const json& program, std::vector<std::string>& lines) {
  const double arena = program["memory"]["temporaries"], bound = program["memory"]["live_set"];
  if (arena > 1.1 * bound && arena > 1e6)
    lines.push_back(fmt::format("temporaries take {}, {:.0f} % more than what is alive at one time", bytes_text(arena),
                                100 * (arena / bound - 1)));
}

void judge_spills(const json& record, std::vector<std::string>& lines) {
  for (const json& pipeline : record["pipelines"])
    for (const char* figure : {"spills", "scratch"})
      if (const json& count = pipeline["figures"][figure]; count.is_number() && count > 0) {
        lines.push_back(fmt::format("{} keeps values in memory that found no register ({}: {:g})",
                                    pipeline["name"].get<std::string>(), figure, count.get<double>()));
        break;
      }
}

}  // namespace

std::vector<std::string> profile_advice(const json& record, const json& program) {
  std::vector<std::string> lines;
  if (!program.contains("kernels")) return lines;
  double busy = 0;
  for (const json& kernel : program["kernels"]) busy += kernel["us"].get<double>();
  judge_gaps(program, busy, lines);
  judge_kernels(record, program, busy, lines);
  judge_memory(program, lines);
  judge_spills(record, lines);
  judge_timestamps(record, program, lines);
  return lines;
}

}  // namespace vkformer
