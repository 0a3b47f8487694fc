#include "tools/cli/profile.h"

#include <algorithm>

#include "runtime/files/atomic_file.h"
#include "tools/cli/output.h"
#include "tools/cli/page.h"
#include "tools/cli/profile_advice.h"
#include "tools/cli/profile_record.h"
#include "tools/cli/tune.h"

namespace vkformer {

namespace {

/// Columns GFLOP/s and GB/s, with a roof the larger share of it; blank when the cost is only a bound.
std::string rates(const Cost& cost, double seconds, const std::optional<Roof>& roof) {
  std::string text = fmt::format("{:>9.2f} {:>8.2f}", cost.flops / seconds * 1e-9, cost.bytes / seconds * 1e-9);
  if (roof) text += fmt::format(" {:>7.1f}%", 100 * share_of_roof(*roof, cost, seconds));
  return cost.at_most ? std::string(text.size(), ' ') : text;
}

std::string text_of(const nlohmann::json& program, const Program& made, const std::optional<Roof>& roof) {
  const std::string title = program["name"];
  const Counters c = made.counters();
  if (!program.contains("kernels"))
    return fmt::format("{}: {}\n", title, c.runs ? "this device has no timestamps" : "it did not run");
  std::vector<nlohmann::json> rows = program["kernels"];
  std::ranges::sort(rows, std::greater{}, [](const nlohmann::json& row) { return row["us"].get<double>(); });
  double total = 0;
  for (const auto& row : rows) total += row["us"].get<double>();
  std::string text = fmt::format("{}\n{:<52} {:>6} {:>10} {:>10} {:>9} {:>8}{} {:>6}\n", title, "kernel (op)", "count",
                                 "mean us", "total ms", "GFLOP/s", "GB/s", roof ? "  of roof" : "", "share");
  for (const auto& row : rows) {
    const double us = row["us"];
    text += fmt::format("{:<52} {:>6} {:>10.1f} {:>10.3f} {} {:>5.1f}%\n", row["name"].get<std::string>(),
                        row["dispatches"].get<int64_t>(), us / row["dispatches"].get<double>(), us * 1e-3,
                        rates({row["bytes"], row["flops"], row["at_most"]}, us * 1e-6, roof), 100 * us / total);
  }
  text += fmt::format("{:<52} {:>6} {:>10} {:>10.3f}\n", "all", program["dispatches"]["us"].size(), "", total * 1e-3);
  text += fmt::format(
      "{} runs, these are medians of {}; each replayed {} dispatches with {} barriers in {} submissions; "
      "recorded {} dispatches in all; {} device allocations so far\n",
      c.runs, program["host"]["runs"].get<size_t>(), c.commands.dispatches, c.commands.barriers, c.segments,
      c.recorded_dispatches, c.allocations);
  for (const auto& line : program["advice"]) text += fmt::format("* {}\n", line.get<std::string>());
  return text;
}

/// One row, of its last run.
void add_events(nlohmann::json& events, size_t row, const std::string& title, const Program& program) {
  events.push_back({{"name", "thread_name"}, {"ph", "M"}, {"pid", 1}, {"tid", row}, {"args", {{"name", title}}}});
  for (const Timing& t : program.timings())
    events.push_back(
        {{"name", t.kernel},
         {"cat", t.op},
         {"ph", "X"},
         {"pid", 1},
         {"tid", row},
         {"ts", t.start * 1e6},
         {"dur", t.seconds * 1e6},
         {"args", {{"scope", t.scope}, {"candidate", t.candidate}, {"flops", t.cost.flops}, {"bytes", t.cost.bytes}}}});
}

}  // namespace

ProfileReport::ProfileReport(const Backend& backend, const CommonFlags& flags)
    : backend_(backend), flags_(flags), roof_(roof_of(backend)) {}

void ProfileReport::add(const std::string& title, const Program& program) {
  if (flags_.profile.empty()) return;
  nlohmann::json record = program_record(title, program);
  record["advice"] = profile_advice(profile_record(backend_, roof_), record);
  text_ += text_of(record, program, roof_);
  add_events(events_, programs_.size(), title, program);
  programs_.push_back(std::move(record));
}

void ProfileReport::write() {
  if (flags_.profile.empty()) return;
  (flags_.json ? say_text : print_text)(text_);
  nlohmann::json record = profile_record(backend_, roof_);
  record["programs"] = std::move(programs_);
  if (flags_.profile.ends_with(".html")) return write_file_atomically(flags_.profile, page_with("profile", record));
  const nlohmann::json trace = {{"traceEvents", std::move(events_)}, {"displayTimeUnit", "ms"}, {"vkformer", record}};
  write_file_atomically(flags_.profile, trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void report_profile(const Backend& backend, const CommonFlags& flags, const Generator& generator) {
  ProfileReport profile(backend, flags);
  if (generator.encoder_program()) profile.add("encoder", *generator.encoder_program());
  if (generator.prefill_program()) profile.add("prefill", *generator.prefill_program());
  if (generator.decode_program()) profile.add("decoding of a token", *generator.decode_program());
  profile.write();
}

}  // namespace vkformer
