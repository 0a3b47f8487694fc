// `vkformer verify`: models and single ops against recorded outputs.

#include "models/verify/verify.h"

#include <nlohmann/json.hpp>

#include "models/model_files.h"
#include "runtime/check.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"

namespace vkformer {

void verify(const VerifyFlags& flags) {
  const bool on_reference = flags.common.device == "reference";
  for (const std::string& name : flags.folders)
    check(!on_reference || !is_gguf(name),
          "{} has nothing recorded: a device is compared with the reference, which --device names here", name);
  auto backend = open_backend(flags.common);
  std::map<VerifyRow::Verdict, int> count;
  const auto word = [](VerifyRow::Verdict v) {
    return v == VerifyRow::Verdict::passed ? "OK" : v == VerifyRow::Verdict::failed ? "FAIL" : "skipped";
  };
  // What is counted is a number, "3 wrong of 65", and what is measured an error beside its tolerance.
  const auto figure = [](const VerifyRow& row) {
    return row.how.starts_with("wrong of") ? fmt::format("{:>9.0f}           ", row.error)
                                           : fmt::format("{:>9.2e} / {:<8.1e}", row.error, row.tolerance);
  };
  auto rows = nlohmann::json::array();
  for (const std::string& folder : flags.folders) {
    if (!flags.common.json) print("{}\n", folder);
    (is_gguf(folder) ? verify_gguf : verify_case)(*backend, folder, [&](const VerifyRow& row) {
      ++count[row.verdict];
      rows.push_back({{"case", folder},
                      {"tensor", row.tensor},
                      {"error", row.error},
                      {"tolerance", row.tolerance},
                      {"how", row.how},
                      {"verdict", word(row.verdict)},
                      {"note", row.note}});
      if (!flags.common.json && (!flags.common.quiet || row.verdict != VerifyRow::Verdict::passed))
        print("  {:<7} {:<60} {} {}{}{}\n", word(row.verdict), row.tensor, figure(row), row.how,
              row.note.empty() ? "" : "  ", row.note);
    });
    check_output();
  }
  if (flags.common.json) print("{}\n", rows.dump(1));
  const int passed = count[VerifyRow::Verdict::passed], failed = count[VerifyRow::Verdict::failed];
  if (!flags.common.json)
    print("{} passed, {} failed, {} skipped\n", passed, failed, count[VerifyRow::Verdict::skipped]);
  check(failed == 0, "{} of {} comparisons failed", failed, passed + failed);
}

}  // namespace vkformer
