// `vkformer conform`: prove a device right, op by op.

#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/conform.h"
#include "tools/commands.h"

namespace vkformer {

namespace {

struct ConformFlags {
  CommonFlags common;
  ConformOptions options;
  std::string report;
  double segment_seconds = 0.1;
  bool verbose = false;
};

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

void run(const ConformFlags& flags) {
  auto backend = open_backend(flags.common, flags.segment_seconds);
  check(flags.common.device != "reference", "conform compares a Vulkan device with the reference; choose a device");
  std::map<std::string, OpTotal> totals;
  OpTotal all;
  auto rows = nlohmann::json::array();
  conform(*backend, flags.options, [&](const ConformResult& result) {
    for (OpTotal* total : {&totals[result.op], &all}) {
      total->worst = std::max(total->worst, result.worst);
      ++(result.verdict == ConformResult::Verdict::ok       ? total->ok
         : result.verdict == ConformResult::Verdict::failed ? total->failed
                                                            : total->not_supported);
    }
    if (flags.verbose || result.verdict == ConformResult::Verdict::failed)
      fmt::print("{:<4} {} {} {}  {:.2f}{}{}\n", word_for(result.verdict), result.op, result.check, result.what,
                 result.worst, result.detail.empty() ? "" : "  ", result.detail);
    rows.push_back({{"op", result.op},
                    {"case", result.what},
                    {"check", result.check},
                    {"verdict", word_for(result.verdict)},
                    {"worst_share_of_tolerance", result.worst},
                    {"detail", result.detail}});
  });
  check(all.ok + all.failed + all.not_supported > 0, "no case matches '{}'", flags.options.pattern);
  const nlohmann::json report = {{"device", backend->facts().name},
                                 {"driver", backend->facts().driver},
                                 {"ok", all.ok},
                                 {"failed", all.failed},
                                 {"not_supported", all.not_supported},
                                 {"cases", rows}};
  if (flags.common.json) fmt::print("{}\n", report.dump(1));
  if (!flags.report.empty()) {
    std::ofstream file(flags.report);
    file << report.dump(1) << "\n";
    file.close();
    check(static_cast<bool>(file), "can't write the report to '{}'", flags.report);
  }
  if (!flags.common.json) {
    fmt::print("{:<28} {:>6} {:>6} {:>14} {:>22}\n", "op", "OK", "FAIL", "not supported", "worst / tolerance");
    for (const auto& [op, total] : totals)
      fmt::print("{:<28} {:>6} {:>6} {:>14} {:>22.2f}\n", op, total.ok, total.failed, total.not_supported, total.worst);
    fmt::print("{:<28} {:>6} {:>6} {:>14} {:>22.2f}\n", "total", all.ok, all.failed, all.not_supported, all.worst);
  }
  check(all.failed == 0, "{} of {} checks failed on {}", all.failed, all.ok + all.failed + all.not_supported,
        backend->facts().name);
}

}  // namespace

void add_conform(CLI::App& app) {
  auto flags = std::make_shared<ConformFlags>();
  CLI::App* command = app.add_subcommand("conform", "compare every kernel with the CPU reference");
  command->add_option("-d,--device", flags->common.device, "device number or part of its name");
  command->add_flag("--json", flags->common.json, "machine-readable output");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("-o,--op", flags->options.op, "only this op");
  command->add_option("-p,--pattern", flags->options.pattern, "only cases whose description matches this regular expression");
  command->add_flag("--grad", flags->options.gradients, "also check gradients: finite differences, and the device's");
  command->add_option("--report", flags->report, "write all results to FILE as JSON")->type_name("FILE");
  command->add_option("--segment-seconds", flags->segment_seconds,
                      "estimated device time of one submission; tiny values split every dispatch");
  command->add_flag("-v,--verbose", flags->verbose, "one line a case");
  command->callback([flags] { run(*flags); });
}

}  // namespace vkformer
