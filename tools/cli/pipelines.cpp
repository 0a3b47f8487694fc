// `vkformer pipelines`: what a driver's compiler makes of the kernels, and what a run of each program submits.

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "models/generation/generation.h"
#include "models/training/training_plan.h"
#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/pipeline_figures.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/pipeline_json.h"

namespace vkformer {

namespace {

struct ProgramRow {
  std::string name;
  CommandCounts commands;
};

/// The pipelines of everything that the model can be used for. `text`: what the user called it.
void make_model_pipelines(Backend& backend, const std::string& text, const PipelinesFlags& flags,
                          std::vector<ProgramRow>& programs) {
  const Model model = model_or_shape(text);
  const auto make = [&](const std::string& type, const auto& program, const StoreLayout& layout) {
    programs.push_back(
        {fmt::format("{} {} {}", text, type, program.name), backend.make_pipelines(program.graph, layout)});
  };
  if (flags.batch > 0)
    for (const std::string& precision : flags.precisions) {
      const TrainingPlan plan = plan_training(model, {.products = float_type(precision)},
                                              {usual_batch(model, flags.batch, flags.context)}, backend);
      for (const auto& program : plan.programs) make(precision, program, plan.layout);
    }
  if (!model.generates()) return;
  const auto prompts = prompt_lengths(flags.prompts, model, flags.context);
  for (const std::string& dtype : flags.dtypes) {
    Model stored = model;
    store_weights_as(stored, text, dtype);
    const auto blocks = parameter_blocks(stored.parameters, backend.facts().max_allocation);
    const auto make_all = [&](int64_t texts) {
      const GeneratorShape greedy{.rows = texts, .capacity = flags.context, .choices = 1, .apart = texts > 1};
      const GenerationPlan plan = plan_generation(stored, greedy, blocks, &backend.facts());
      for (const auto& program : generation_programs(stored, plan, prompts, backend.facts(), flags.draft_tokens))
        make(weights_text(text, dtype), program, plan.layout);
    };
    make_all(1);
    if (flags.texts > 1 && !stored.has_encoder()) make_all(flags.texts);
  }
}

void print_programs(const std::vector<ProgramRow>& programs) {
  print("{:<48} {:>10} {:>9}\n", "one run of each program", "dispatches", "barriers");
  for (const ProgramRow& row : programs)
    print("{:<48} {:>10} {:>9}\n", row.name, row.commands.dispatches, row.commands.barriers);
  print("\n");
}

/// The worst of a kernel's pipelines.
struct KernelRow {
  int pipelines = 0, spilled = 0, failed = 0;
  double seconds = 0;
  std::set<uint32_t> subgroups;
  PipelineFigures worst;
};

void add_to(KernelRow& row, const PipelineRecord& record) {
  const PipelineFigures figures = figures_of(record);
  const auto worse = [](auto& worst, const auto& value, auto&& choose) {
    if (value) worst = worst ? choose(*worst, *value) : *value;
  };
  const auto most = [](double a, double b) { return std::max(a, b); };
  const auto least = [](double a, double b) { return std::min(a, b); };
  ++row.pipelines;
  row.spilled += figures.spilled();
  row.failed += !record.failure.empty();
  row.seconds = std::max(row.seconds, record.seconds);
  row.subgroups.insert(figures.subgroup_size);
  worse(row.worst.registers, figures.registers, most);
  worse(row.worst.spills, figures.spills, most);
  worse(row.worst.scratch, figures.scratch, most);
  worse(row.worst.resident, figures.resident, least);
  worse(row.worst.shared, figures.shared, most);
  worse(row.worst.code, figures.code, most);
}

void print_table(const std::vector<PipelineRecord>& records) {
  std::map<std::string, KernelRow> rows;
  for (const PipelineRecord& record : records) add_to(rows[record.kernel + "/" + record.variant], record);
  print("{:<48} {:>9} {:>8} {:>9} {:>7} {:>7} {:>8} {:>8} {:>7} {:>7} {:>7}\n", "worst of each kernel", "pipelines",
        "subgroup", "registers", "spills", "scratch", "resident", "shared", "code", "seconds", "spilled");
  const auto number = [](const std::optional<double>& value) { return value ? fmt::format("{:g}", *value) : "-"; };
  for (const auto& [kernel, row] : rows) {
    std::string subgroups;
    for (uint32_t size : row.subgroups) subgroups += fmt::format("{}{}", subgroups.empty() ? "" : "/", size);
    print("{:<48} {:>9} {:>8} {:>9} {:>7} {:>7} {:>8} {:>8} {:>7} {:>7.2f} {:>7}{}\n", kernel, row.pipelines, subgroups,
          number(row.worst.registers), number(row.worst.spills), number(row.worst.scratch), number(row.worst.resident),
          number(row.worst.shared), number(row.worst.code), row.seconds, row.spilled,
          row.failed ? fmt::format("  {} FAILED", row.failed) : "");
  }
}

/// Every statistic under the driver's own name, a line for each code of each pipeline.
void print_statistics(const std::vector<PipelineRecord>& records) {
  for (const PipelineRecord& record : records)
    for (const PipelineCode& code : record.code) {
      print("{}{}:", record.name(), code.subgroup_size ? fmt::format(" as {} lanes", code.subgroup_size) : "");
      for (const auto& [name, value] : code.statistics) print(" {} {:g};", name, value);
      print("\n");
    }
}

/// One of SPIR-V 1.0 to 1.6 in this machine's byte order.
std::vector<uint32_t> load_module(const std::string& file) {
  const MappedFile mapped(file);
  const std::string_view bytes = mapped.text();
  constexpr uint32_t magic = 0x07230203;
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  check(bytes.size() % 4 == 0 && words.size() > 5 && words[0] == magic, "{} is no SPIR-V module", file);
  return words;
}

nlohmann::json report_of(const Backend& backend, const std::vector<ProgramRow>& programs,
                         const std::vector<PipelineRecord>& records, const std::set<std::string>& chosen) {
  auto counts = nlohmann::json::array(), rows = nlohmann::json::array();
  for (const ProgramRow& row : programs)
    counts.push_back(
        {{"name", row.name}, {"dispatches", row.commands.dispatches}, {"barriers", row.commands.barriers}});
  for (const PipelineRecord& record : records) {
    rows.push_back(pipeline_json(record));
    rows.back()["chosen"] = chosen.contains(record.name());
  }
  return {
      {"device", backend.facts().name}, {"driver", backend.facts().driver}, {"programs", counts}, {"pipelines", rows}};
}

std::vector<ProgramRow> make_all_pipelines(Backend& backend, const PipelinesFlags& flags) {
  std::vector<ProgramRow> programs;
  for (const std::string& text : flags.models) make_model_pipelines(backend, text, flags, programs);
  for (const std::string& file : flags.modules)
    backend.make_pipeline(std::filesystem::path(file).stem().generic_string(), load_module(file));
  return programs;
}

}  // namespace

void pipelines(const PipelinesFlags& flags) {
  check(flags.common.device != "reference", "the reference has no pipelines; choose a Vulkan device");
  const auto backend = open_backend(flags.common, {.as_gpu = flags.as_gpu, .inspect = true});
  const std::vector<ProgramRow> programs = make_all_pipelines(*backend, flags);
  const bool asked = pipelines_logged() > 0;
  std::set<std::string> chosen;
  for (const PipelineRecord& record : pipeline_log()) chosen.insert(record.name());
  if (flags.all || !asked) make_case_pipelines(*backend, {.gradients = true, .all = true});
  const std::vector<PipelineRecord> records = pipeline_log();

  const nlohmann::json report = report_of(*backend, programs, records, chosen);
  if (!flags.report.empty()) write_file_atomically(flags.report, report.dump(1) + "\n");
  const auto tell = flags.common.json ? say_text : print_text;
  const auto failed =
      std::ranges::count_if(records, [](const PipelineRecord& record) { return !record.failure.empty(); });
  if (flags.common.json) {
    print("{}\n", report.dump(1));
  } else {
    if (!programs.empty()) print_programs(programs);
    if (flags.verbose) print_statistics(records);
    print_table(records);
    print("{} pipelines, {} of them chosen by models{}, {} failed\n", records.size(), chosen.size(),
          flags.modules.empty() ? "" : " or given as modules", failed);
  }
  if (std::ranges::all_of(records, [](const PipelineRecord& record) { return record.code.empty(); }))
    tell("no statistics: this driver has none (it lacks VK_KHR_pipeline_executable_properties)\n");
  check(failed == 0, "{} of {} pipelines could not be made", failed, records.size());

  std::vector<PipelineRecord> judged = records;
  if (asked) std::erase_if(judged, [&](const PipelineRecord& record) { return !chosen.contains(record.name()); });
  const std::vector<std::string> excesses = over_budget(judged, flags.budget);
  for (const std::string& excess : excesses) tell(excess + "\n");
  flush_output();
  check(excesses.empty(), "the budget does not hold for these {} pipelines", judged.size());
}

}  // namespace vkformer
