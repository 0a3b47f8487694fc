// `vkformer pipelines --judge`: reports of several devices against each other and against what is allowed.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/pipeline_figures.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"
#include "tools/cli/pipeline_json.h"

namespace vkformer {

namespace {

struct JudgedPipeline {
  PipelineRecord record;
  bool chosen = false;
};

struct JudgedReport {
  std::string name;  ///< of the file: "intel-dg2"
  std::vector<JudgedPipeline> pipelines;
};

JudgedReport load_judged(const std::string& file) {
  const JsonObject json = JsonObject::load(file);
  check(json.has("pipelines"), "{} is no report of `vkformer pipelines --report`", file);
  JudgedReport report{.name = std::filesystem::path(file).stem().generic_string(), .pipelines = {}};
  for (const JsonObject& row : require_objects(json, "pipelines"))
    report.pipelines.push_back({pipeline_from(row), require_boolean(row, "chosen")});
  return report;
}

/// "60 / 4": the most registers, the fewest resident subgroups; "-" where no model chooses the kernel.
struct Cell {
  double registers = 0, resident = 1e9;
  int spilled = 0;
  std::string text() const {
    return (resident < 1e9 ? fmt::format("{:g} / {:g}", registers, resident) : fmt::format("{:g}", registers)) +
           (spilled ? fmt::format(" **{} spill**", spilled) : "");
  }
};

void print_chosen(const std::vector<JudgedReport>& reports) {
  std::map<std::string, std::vector<std::optional<Cell>>> rows;
  for (size_t i = 0; i < reports.size(); ++i)
    for (const auto& [record, chosen] : reports[i].pipelines) {
      if (!chosen) continue;
      auto& row = rows[record.kernel + "/" + record.variant];
      row.resize(reports.size());
      if (!row[i]) row[i].emplace();
      const PipelineFigures figures = figures_of(record);
      row[i]->registers = std::max(row[i]->registers, figures.registers.value_or(0));
      row[i]->resident = std::min(row[i]->resident, figures.resident.value_or(1e9));
      row[i]->spilled += figures.spilled();
    }
  print("| kernel |");
  for (const JudgedReport& report : reports) print(" {} |", report.name);
  print("\n|---|");
  for (size_t i = 0; i < reports.size(); ++i) print("---|");
  print("\n");
  for (const auto& [kernel, row] : rows) {
    print("| {} |", kernel);
    for (const auto& cell : row) print(" {} |", cell ? cell->text() : "");
    print("\n");
  }
}

/// Faults of one report, a line each; `allowed` are its spilling pipelines by kernel.
std::vector<std::string> faults_of(const JudgedReport& report, const std::map<std::string, int64_t>& allowed,
                                   double slow) {
  std::vector<std::string> faults;
  std::map<std::string, int64_t> spilled;
  for (const auto& [record, chosen] : report.pipelines) {
    const auto fault = [&](const std::string& what) {
      faults.push_back(fmt::format("{}: {}: {}", report.name, record.name(), what));
    };
    if (!record.failure.empty()) fault(record.failure);
    if (record.thread_seconds > slow) fault(fmt::format("took {:.1f} s to compile", record.thread_seconds));
    const PipelineFigures figures = figures_of(record);
    if (!figures.spilled()) continue;
    if (chosen)
      fault(fmt::format("models choose it, and it spills ({:g}, {:g} bytes)", figures.spills.value_or(0),
                        figures.scratch.value_or(0)));
    else
      ++spilled[record.kernel + "/" + record.variant];
  }
  for (const auto& [kernel, count] : spilled)
    if (const int64_t most = allowed.contains(kernel) ? allowed.at(kernel) : 0; count > most)
      faults.push_back(fmt::format("{}: {}: {} pipelines spill, {} are allowed", report.name, kernel, count, most));
  for (const auto& [kernel, most] : allowed)
    if (const auto found = spilled.find(kernel); found == spilled.end() || found->second < most)
      print("{}: {}: only {} of {} allowed pipelines spill: shorten the list\n", report.name, kernel,
            found == spilled.end() ? 0 : found->second, most);
  return faults;
}

/// Of the file --allowed: pipelines that may spill, by device and kernel.
std::map<std::string, int64_t> allowed_of(const JsonObject& devices, const std::string& device) {
  std::map<std::string, int64_t> allowed;
  if (!devices.has(device)) return allowed;
  const JsonObject kernels = require_object(devices, device);
  for (const auto& [kernel, count] : kernels.value().items())
    allowed[kernel] = require_integer(kernels, kernel, 0, 1 << 20);
  return allowed;
}

std::vector<PipelineRecord> chosen_of(const JudgedReport& report) {
  std::vector<PipelineRecord> records;
  for (const auto& [record, chosen] : report.pipelines)
    if (chosen) records.push_back(record);
  return records;
}

}  // namespace

void judge_pipelines(const PipelinesFlags& flags) {
  const JsonObject devices =
      flags.allowed.empty() ? JsonObject::parse("{}", "--allowed") : JsonObject::load(flags.allowed);
  for (const auto& [name, kernels] : devices.value().items()) require_object(devices, name);
  std::vector<JudgedReport> reports;
  for (const std::string& file : flags.judged) reports.push_back(load_judged(file));
  print("Kernels that models choose: most registers / fewest resident subgroups.\n\n");
  print_chosen(reports);
  print("\n");
  std::vector<std::string> faults;
  for (const JudgedReport& report : reports) {
    const auto own = faults_of(report, allowed_of(devices, report.name), flags.slow);
    faults.insert(faults.end(), own.begin(), own.end());
    for (const std::string& excess : over_budget(chosen_of(report), flags.budget))
      faults.push_back(fmt::format("{}: {}", report.name, excess));
  }
  for (const std::string& fault : faults) print("{}\n", fault);
  flush_output();
  check(faults.empty(), "{} in the pipelines of {}", counted(std::ssize(faults), "fault"),
        counted(std::ssize(reports), "device"));
}

}  // namespace vkformer
