// `vkformer conform --matrix`: which kernels were proved on which drivers, from the reports of several runs.

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"
#include "runtime/kernels.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"
#include "tools/cli/pipeline_json.h"

namespace vkformer {

namespace {

/// A specialization constant and one of the values it had.
struct Flag {
  uint32_t constant = 0;
  uint32_t value = 0;
  auto operator<=>(const Flag&) const = default;
};

/// What the runs prove of one kernel's variant.
struct Proof {
  std::vector<size_t> pipelines;                ///< by run
  std::map<Flag, std::set<std::string>> flags;  ///< the drivers that ran each value
  std::vector<uint32_t> booleans;               ///< constants that choose code
};

using Kernel = std::pair<std::string, std::string>;  ///< and its variant

JsonObject load_report(const std::string& file) {
  JsonObject report = JsonObject::load(file);
  check(report.has("pipelines") && report.has("run"), "{} is no report of `vkformer conform --report`", file);
  const int64_t failed = require_integer(report, "failed", 0, INT64_MAX);
  check(failed == 0, "{}: {} checks failed there", file, failed);
  return report;
}

/// "3=1 7=0": values of flags that fewer than two drivers ran.
std::string lone_flags(const Proof& proof) {
  std::string text;
  for (const auto& [flag, drivers] : proof.flags)
    if (std::ranges::count(proof.booleans, flag.constant) > 0 && drivers.size() < 2)
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", flag.constant, flag.value);
  return text;
}

}  // namespace

void print_proof_matrix(const std::vector<std::string>& files, const std::string& single,
                        const std::string& elsewhere) {
  const std::regex on_one(single.empty() ? "$^" : single), on_none(elsewhere.empty() ? "$^" : elsewhere);
  std::vector<std::string> runs;
  std::map<Kernel, Proof> proofs;
  for (const KernelVariant& kernel : kernel_variants())
    if (kernel.built) proofs[{std::string(kernel.kernel), std::string(kernel.variant)}].booleans = kernel.flags;
  for (auto& [kernel, proof] : proofs) proof.pipelines.resize(files.size());
  for (const std::string& file : files) {
    const JsonObject report = load_report(file);
    const std::string driver = require_string(report, "driver");
    for (const JsonObject& row : require_objects(report, "pipelines")) {
      const auto found = proofs.find({require_string(row, "kernel"), require_string(row, "variant")});
      if (found == proofs.end()) continue;  // of another build
      Proof& proof = found->second;
      ++proof.pipelines[runs.size()];
      const std::vector<uint32_t> constants = constants_from(row);
      for (uint32_t i = 0; i < constants.size(); ++i) proof.flags[{i, constants[i]}].insert(driver);
    }
    runs.push_back(printable(require_string(report, "run")));
  }

  print("Pipelines of each kernel that were proved, by run:\n");
  for (size_t i = 0; i < runs.size(); ++i) print("  {}: {}\n", i + 1, runs[i]);
  print("{:<36} {:<18}", "kernel", "variant");
  for (size_t i = 0; i < runs.size(); ++i) print(" {:>5}", i + 1);
  print("  flags that one driver alone ran\n");
  std::vector<std::string> unproved;
  for (const auto& [kernel, proof] : proofs) {
    print("{:<36} {:<18}", kernel.first, kernel.second);
    for (size_t count : proof.pipelines) print(" {:>5}", count);
    const std::string lone = lone_flags(proof);
    std::set<std::string> drivers;
    for (const auto& [flag, ran] : proof.flags) drivers.insert(ran.begin(), ran.end());
    const std::string name = kernel.first + "/" + kernel.second;
    const size_t wanted = std::regex_search(name, on_none) ? 0 : std::regex_search(name, on_one) ? 1 : 2;
    const bool half_proved = wanted == 2 && !lone.empty();
    const bool is_unproved = drivers.size() < wanted || half_proved;
    if (is_unproved) unproved.push_back(half_proved ? name + " " + lone : name);
    print(" {} {}\n", is_unproved ? '!' : ' ', lone);
  }
  print("{} kernels with their variants, {} of them proved on too few drivers\n", proofs.size(), unproved.size());
  constexpr size_t most = 8;  // of a run alone there are hundreds, which the table marks
  check(unproved.empty(), "proved on too few drivers: {}{}",
        fmt::join(std::span(unproved).first(std::min(most, unproved.size())), ", "),
        unproved.size() > most ? fmt::format(" and {} more (! in the table)", unproved.size() - most) : "");
}

}  // namespace vkformer
