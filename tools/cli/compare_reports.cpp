// `vkformer conform --compare`: a driver before and after its update, or two devices.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

struct CheckedCase {
  std::string verdict, detail;
  double worst = 0, seconds = 0;
};
using Cases = std::map<std::string, CheckedCase>;  ///< by op, check and case

struct Report {
  std::string file, run;
  nlohmann::json facts;
  Cases cases;
};

Report load_report(const std::string& file) {
  const JsonObject json = JsonObject::load(file);
  check(json.has("cases") && json.has("facts"), "{} is no JSON report of `vkformer conform --report`", file);
  Report report{.file = file,
                .run = printable(require_string(json, "run")),
                .facts = require_object(json, "facts").value(),
                .cases = {}};
  for (const JsonObject& row : require_objects(json, "cases"))
    report.cases[fmt::format("{} {} {}", require_string(row, "op"), require_string(row, "check"),
                             require_string(row, "case"))] = {
        .verdict = require_string(row, "verdict"),
        .detail = require_string(row, "detail"),
        .worst = require_number(row, "worst_share_of_tolerance", 0, 1e300),
        .seconds = require_number(row, "seconds", 0, 1e9)};
  return report;
}

/// Facts that are not the same.
void print_facts(const nlohmann::json& before, const nlohmann::json& after) {
  for (const auto& [key, value] : before.items()) {
    if (key.ends_with("memory_free")) continue;  // another at any moment
    const nlohmann::json other = after.value(key, nlohmann::json());
    if (other != value) print("{}: {} -> {}\n", key, value.dump(), other.dump());
  }
}

/// Cases of one report that the other lacks: prints how many, and the first.
void print_missing(const Cases& from, const Cases& in, std::string_view title) {
  size_t count = 0;
  std::string first;
  for (const auto& [name, row] : from)
    if (!in.contains(name) && count++ == 0) first = name;
  if (count > 0) print("{} {}, such as {}\n", count, title, first);
}

}  // namespace

void compare_reports(const std::string& before_file, const std::string& after_file) {
  const Report before = load_report(before_file), after = load_report(after_file);
  print("before: {}\nafter:  {}\n", before.run, after.run);
  print_facts(before.facts, after.facts);
  print_missing(before.cases, after.cases, "cases are in the first alone");
  print_missing(after.cases, before.cases, "cases are in the second alone");
  size_t common = 0, broken = 0, mended = 0, same = 0;
  double seconds_before = 0, seconds_after = 0, worst_before = 0, worst_after = 0;
  std::vector<std::pair<double, std::string>> errors;  // by growth
  for (const auto& [name, old] : before.cases) {
    const auto found = after.cases.find(name);
    if (found == after.cases.end()) continue;
    const CheckedCase& now = found->second;
    ++common;
    if (old.verdict != now.verdict) {
      broken += now.verdict == "FAIL";
      mended += old.verdict == "FAIL";
      print("{} -> {}: {}{}{}\n", old.verdict, now.verdict, name, now.detail.empty() ? "" : "  ", now.detail);
    }
    same += old.worst == now.worst;
    // Another order of sums changes small errors; what comes near the tolerance is worth a line.
    if (now.worst > 0.25 && now.worst > 2 * old.worst)
      errors.emplace_back(now.worst - old.worst,
                          fmt::format("error {:.2f} -> {:.2f} of its tolerance: {}", old.worst, now.worst, name));
    worst_before = std::max(worst_before, old.worst);
    worst_after = std::max(worst_after, now.worst);
    seconds_before += old.seconds;
    seconds_after += now.seconds;
  }
  std::ranges::sort(errors, std::greater{});
  for (const auto& [growth, line] : errors) print("{}\n", line);
  check(common > 0, "the two reports have no case in common");
  print(
      "{} cases in both: {} fail now, {} no longer; the same largest error in {}; worst {:.2f} -> {:.2f} of its "
      "tolerance; {:.3f} s -> {:.3f} s on the device\n",
      common, broken, mended, same, worst_before, worst_after, seconds_before, seconds_after);
  check(broken == 0, "{} checks fail in {} that did not in {}", broken, after_file, before_file);
}

}  // namespace vkformer
