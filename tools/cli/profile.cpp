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

/// Columns GFLOP/s and GB/s of a row, with a roof the larger share of it; blank where there is none.
std::string rates(const nlohmann::json& row, bool roof) {
  const double us = row["us"], flops = row["flops"], bytes = row["bytes"];
  std::string text = row["at_most"].get<bool>()
                         ? std::string(18, ' ')
                         : fmt::format("{:>9.2f} {:>8.2f}", flops / us * 1e-3, bytes / us * 1e-3);
  if (!roof) return text;
  const nlohmann::json& shares = row["of_roof"];
  if (shares.is_null()) return text + std::string(9, ' ');
  const double copied = shares["copy"], computed = shares["arithmetic"];
  return text + fmt::format(" {:>7.1f}%", 100 * std::max(copied, computed));
}

std::string text_of(const nlohmann::json& program, const Program& made, bool roof) {
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
                        rates(row, roof), 100 * us / total);
  }
  text += fmt::format("{:<52} {:>6} {:>10} {:>10.3f}\n", "all", program["dispatches"]["us"].size(), "", total * 1e-3);
  text += fmt::format(
      "{} runs, these are medians of {}; each replayed {} dispatches with {} barriers in {} submissions; "
      "recorded {} dispatches in all; {} device allocations so far\n",
      c.runs, program["host"]["runs"].get<size_t>(), c.commands.dispatches, c.commands.barriers, c.segments,
      c.recorded_dispatches, c.allocations);
  if (program["device"].is_object() && program["between"].is_object()) {
    const double host = program["host"]["median"], device = program["device"]["median"],
                 between = program["between"]["median"];
    text += fmt::format(
        "of {:.1f} us from run to run {:.1f} are the device's, {:.1f} until the host knows, {:.1f} till "
        "the next run\n",
        host + between, device, std::max(0.0, host - device), between);
  }
  for (const auto& line : program["advice"]) text += fmt::format("* {}\n", line.get<std::string>());
  return text;
}

enum Phase { forward, backward, optimizer, phases };
constexpr const char* phase_names[phases] = {"forward", "backward", "optimizer"};

/// Gradients begin with the loss's and end with the optimizer; what is computed again between them belongs to them.
std::vector<Phase> phases_of(const std::vector<Timing>& timings) {
  std::vector<Phase> found;
  Phase phase = forward;
  for (const Timing& t : timings) {
    if (phase == forward && t.op.ends_with("_backward")) phase = backward;
    if (t.scope.starts_with("optimizer")) phase = optimizer;
    found.push_back(phase);
  }
  return found;
}

/// The last run: a track, or where there are gradients one for each phase. `program`: its number.
void add_events(nlohmann::json& events, size_t program, const std::string& title, const std::vector<Timing>& timings) {
  const auto name = [&](const char* what, size_t track, nlohmann::json arguments) {
    events.push_back({{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", track}, {"args", std::move(arguments)}});
  };
  const std::vector<Phase> found = phases_of(timings);
  const bool trains = std::ranges::find(found, backward) != found.end();
  for (size_t phase = 0; phase < (trains ? phases : 1); ++phase) {
    const size_t track = program * phases + phase;
    name("thread_name", track, {{"name", trains ? fmt::format("{}: {}", title, phase_names[phase]) : title}});
    name("thread_sort_index", track, {{"sort_index", track}});
  }
  for (size_t i = 0; i < timings.size(); ++i) {
    const Timing& t = timings[i];
    events.push_back({{"name", t.scope.empty() ? std::string(t.kernel) : fmt::format("{}: {}", t.scope, t.kernel)},
                      {"cat", t.op},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", program * phases + found[i]},
                      {"ts", t.start * 1e6},
                      {"dur", t.seconds * 1e6},
                      {"args",
                       {{"scope", t.scope},
                        {"kernel", t.kernel},
                        {"candidate", t.candidate},
                        {"flops", t.cost.flops},
                        {"bytes", t.cost.bytes}}}});
  }
}

}  // namespace

ProfileReport::ProfileReport(const Backend& backend, const CommonFlags& flags)
    : backend_(backend), flags_(flags), roof_(roof_of(backend)) {}

void ProfileReport::add(const std::string& title, const Program& program) {
  if (flags_.profile.empty()) return;
  nlohmann::json record = program_record(title, program, roof_);
  record["advice"] = profile_advice(profile_record(backend_, roof_), record);
  text_ += text_of(record, program, roof_.has_value());
  add_events(events_, programs_.size(), title, program.timings());
  programs_.push_back(std::move(record));
}

void ProfileReport::write() {
  if (flags_.profile.empty()) return;
  if (!flags_.quiet) say_text(text_);
  nlohmann::json record = profile_record(backend_, roof_);
  record["programs"] = std::move(programs_);
  if (flags_.profile.ends_with(".html")) return write_file_atomically(flags_.profile, page_with("profile", record));
  events_.push_back({{"name", "process_name"},
                     {"ph", "M"},
                     {"pid", 1},
                     {"args", {{"name", fmt::format("vkformer on {}", backend_.facts().name)}}}});
  const nlohmann::json trace = {{"traceEvents", std::move(events_)}, {"displayTimeUnit", "ms"}, {"vkformer", record}};
  write_file_atomically(flags_.profile, trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void ProfileReport::add(const Generator& generator, const std::string& batch) {
  if (generator.encoder_program()) add("encoder" + batch, *generator.encoder_program());
  if (generator.prefill_program()) add("prefill" + batch, *generator.prefill_program());
  if (generator.decode_program()) add("decoding of a token" + batch, *generator.decode_program());
  if (generator.extension_program()) add("checking guessed tokens" + batch, *generator.extension_program());
}

void report_profile(const Backend& backend, const CommonFlags& flags, const Generator& generator) {
  ProfileReport profile(backend, flags);
  profile.add(generator);
  profile.write();
}

void report_profile(const Backend& backend, const CommonFlags& flags,
                    const std::vector<std::pair<std::string, const Program*>>& programs) {
  ProfileReport profile(backend, flags);
  for (const auto& [name, program] : programs) profile.add(name, *program);
  profile.write();
}

}  // namespace vkformer
