// `vkformer conform`: prove a device right, op by op.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/conform/bug_kit.h"
#include "runtime/conform/conform.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/facts_file.h"
#include "runtime/op.h"
#include "runtime/pipeline_log.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"
#include "tools/cli/page.h"
#include "tools/cli/progress.h"

namespace vkformer {

namespace {

struct OpTotal {
  int ok = 0, failed = 0, not_supported = 0;
  double worst = 0;
};

const char* word_for(ConformResult::Verdict verdict) {
  switch (verdict) {
    case ConformResult::Verdict::ok: return "OK";
    case ConformResult::Verdict::failed: return "FAIL";
    default: return "not supported";
  }
}

/// On stdout, unless that belongs to the report.
void say_or_print(bool report_on_stdout, const std::string& line) {
  report_on_stdout ? say("{}", line) : print("{}\n", line);
}

void write_kit(Backend& backend, const ConformFlags& flags) {
  const std::filesystem::path folder = flags.kit;
  check(!std::filesystem::exists(folder), "'{}' is there already; give a new folder", flags.kit);
  std::filesystem::create_directories(folder);
  ConformOptions options = flags.options;
  options.all |= !flags.as_gpu && !backend.facts().is_cpu();
  ConformResult result;
  try {
    result = write_bug_kit(backend, options, folder);
    write_file_atomically(folder / "main.cpp", embedded_page("main"));
    write_file_atomically(folder / "CMakeLists.txt", embedded_page("CMakeLists"));
  } catch (...) {
    std::error_code ignored;  // the first error is the one to tell
    std::filesystem::remove_all(folder, ignored);
    throw;
  }
  print("{} {} {}  {:.2f}{}{}\nin {}: cmake -S . -B build && cmake --build build && build/run_case\n",
        word_for(result.verdict), result.op, result.what, result.worst, result.detail.empty() ? "" : "  ",
        result.detail, flags.kit);
}

}  // namespace

void conform(const ConformFlags& flags) {
  CommonFlags common = flags.common;
  common.watch_compiling = false;                          // the table comes row by row, and the bar says how far it is
  auto backend = open_backend(common, {.backwards = true,  // so that a software driver shows a missing barrier
                                       .as_gpu = flags.as_gpu});
  backend->check_one_device("conform");
  check(flags.common.device != "reference", "conform compares a Vulkan device with the reference; choose a device");
  if (!flags.kit.empty()) return write_kit(*backend, flags);
  std::map<std::string, OpTotal> totals;
  OpTotal all;
  auto rows = nlohmann::json::array();
  ConformOptions options = flags.options;
  // A GPU's owner proves whatever the tuner may choose there; tools/check proves software drivers' two kinds apart.
  options.all |= !flags.as_gpu && !backend->facts().is_cpu();
  const bool table = !flags.common.json;
  bool headed = false;
  const auto print_total = [&](const std::string& name, const OpTotal& total) {
    if (!table) return;
    if (!std::exchange(headed, true))
      print("{:<28} {:>6} {:>6} {:>14} {:>22}\n", "op", "OK", "FAIL", "not supported", "worst / tolerance");
    print("{:<28} {:>6} {:>6} {:>14} {:>22.2f}\n", name, total.ok, total.failed, total.not_supported, total.worst);
    check_output();
  };
  // Ops end one after the other; those that this device has no kernels for may be told of earlier.
  std::string current;
  Progress bar(std::ssize(all_ops()), flags.common.quiet);
  int64_t done = 0;
  conform(*backend, options, [&](const ConformResult& result) {
    if (result.verdict != ConformResult::Verdict::not_supported && result.op != current) {
      bar.clear();
      if (!current.empty()) print_total(current, totals.at(current));
      current = result.op;
      done = std::ranges::find(all_ops(), result.op, &Op::name) - all_ops().begin();
    }
    if (flags.options.op.empty()) bar.show(done + 1, "ops, " + result.op);
    for (OpTotal* total : {&totals[result.op], &all}) {
      total->worst = std::max(total->worst, result.worst);
      ++(result.verdict == ConformResult::Verdict::ok       ? total->ok
         : result.verdict == ConformResult::Verdict::failed ? total->failed
                                                            : total->not_supported);
    }
    if (flags.verbose || result.verdict == ConformResult::Verdict::failed)
      say_or_print(flags.common.json,
                   fmt::format("{:<4} {} {} {}  {:.2f}{}{}", word_for(result.verdict), result.op, result.check,
                               result.what, result.worst, result.detail.empty() ? "" : "  ", result.detail));
    rows.push_back({{"op", result.op},
                    {"case", result.what},
                    {"check", result.check},
                    {"verdict", word_for(result.verdict)},
                    {"worst_share_of_tolerance", result.worst},
                    {"seconds", result.seconds},
                    {"detail", result.detail}});
  });
  check(all.ok + all.failed + all.not_supported > 0, "no case matches '{}'{}", flags.options.pattern,
        flags.options.kernel.empty() ? ""
                                     : fmt::format(" and has a kernel here that matches '{}'", flags.options.kernel));
  auto pipelines = nlohmann::json::array();
  for (const PipelineRecord& record : pipeline_log())
    pipelines.push_back({{"kernel", record.kernel},
                         {"variant", record.variant},
                         {"constants", record.constants},
                         {"subgroup_size", record.subgroup_size},
                         {"seconds", record.seconds}});
  const nlohmann::json report = {
      {"vkformer", VKFORMER_VERSION},
      {"device", backend->facts().name},
      {"facts", facts_json(backend->facts())},
      {"driver", backend->facts().driver},
      {"run", fmt::format("{}{}{}", backend->facts().driver, flags.as_gpu ? ", as on a GPU" : "",
                          flags.options.gradients ? ", with gradients" : "")},
      {"ok", all.ok},
      {"failed", all.failed},
      {"not_supported", all.not_supported},
      {"cases", rows},
      {"pipelines", pipelines}};
  if (flags.common.json) print("{}\n", report.dump(1));
  if (!flags.report.empty()) {
    const bool page = flags.report.ends_with(".html");
    write_file_atomically(flags.report, page ? page_with("conform", report) : report.dump(1) + "\n");
  }
  if (!flags.common.json) {
    if (!current.empty()) print_total(current, totals.at(current));
    for (const auto& [op, total] : totals)
      if (total.ok + total.failed == 0) print_total(op, total);
    print_total("total", all);
    print("\n{}", pipeline_table());
  }
  check(all.failed == 0, "{} of {} checks failed on {}", all.failed, all.ok + all.failed + all.not_supported,
        backend->facts().name);
}

}  // namespace vkformer
