#include "tools/cli/profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

/// Columns GFLOP/s and GB/s, with a roof the larger share of it; blank when the cost is only a bound.
std::string rates(const Cost& cost, double seconds, const std::optional<Roof>& roof) {
  std::string text = fmt::format("{:>9.2f} {:>8.2f}", cost.flops / seconds * 1e-9, cost.bytes / seconds * 1e-9);
  if (roof) text += fmt::format(" {:>7.1f}%", 100 * share_of_roof(*roof, cost, seconds));
  return cost.at_most ? std::string(text.size(), ' ') : text;
}

}  // namespace

void print_profile(const Program& program, const std::string& title, bool json, const std::optional<Roof>& roof) {
  void (*const write)(std::string_view) = json ? say_text : print_text;
  struct Row {
    std::string name;
    int count = 0;
    double seconds = 0;
    Cost cost;
  };
  const auto timings = program.timings();
  if (timings.empty()) {
    write(fmt::format("{}: {}\n", title, program.counters().runs ? "this device has no timestamps" : "it did not run"));
    return;
  }
  std::map<std::string, Row> by_kernel;
  double total = 0;
  for (const Timing& t : timings) {
    std::string name(t.kernel);
    if (!t.op.empty() && t.op != t.kernel) name += fmt::format(" ({})", t.op);
    Row& row = by_kernel[name];
    row.name = name;
    ++row.count;
    row.seconds += t.seconds;
    row.cost.bytes += t.cost.bytes;
    row.cost.flops += t.cost.flops;
    row.cost.at_most |= t.cost.at_most;
    total += t.seconds;
  }
  std::vector<Row> rows;
  for (const auto& [name, row] : by_kernel) rows.push_back(row);
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  write(fmt::format("{}\n{:<52} {:>6} {:>10} {:>10} {:>9} {:>8}{} {:>6}\n", title, "kernel (op)", "count", "mean us",
                    "total ms", "GFLOP/s", "GB/s", roof ? "  of roof" : "", "share"));
  for (const Row& row : rows)
    write(fmt::format("{:<52} {:>6} {:>10.1f} {:>10.3f} {} {:>5.1f}%\n", row.name, row.count,
                      row.seconds / row.count * 1e6, row.seconds * 1e3, rates(row.cost, row.seconds, roof),
                      100 * row.seconds / total));
  const Counters c = program.counters();
  write(fmt::format("{:<52} {:>6} {:>10} {:>10.3f}\n", "all", timings.size(), "", total * 1e3));
  write(fmt::format(
      "{} runs replayed {} dispatches with {} barriers in {} submissions; recorded {} dispatches in all; "
      "{} device allocations so far\n",
      c.runs, c.commands.dispatches, c.commands.barriers, c.segments, c.recorded_dispatches, c.allocations));
}

void write_trace(const std::vector<std::pair<std::string, const Program*>>& programs, const std::string& file) {
  auto events = nlohmann::json::array();
  for (size_t row = 0; row < programs.size(); ++row) {
    events.push_back(
        {{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", row}, {"args", {{"name", programs[row].first}}}});
    for (const Timing& t : programs[row].second->timings())
      events.push_back(
          {{"name", t.kernel},
           {"cat", t.op},
           {"ph", "X"},
           {"pid", 1},
           {"tid", row},
           {"ts", t.start * 1e6},
           {"dur", t.seconds * 1e6},
           {"args",
            {{"scope", t.scope}, {"candidate", t.candidate}, {"flops", t.cost.flops}, {"bytes", t.cost.bytes}}}});
  }
  write_file_atomically(file, nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump());
}

}  // namespace vkformer
