// `vkformer verify`: models and single ops against recorded outputs.

#include "models/verify/verify.h"

#include <nlohmann/json.hpp>

#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/checkpoint.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

/// A model of which nothing is recorded; empty: `name` is a case, or nothing.
std::filesystem::path model_in(const std::filesystem::path& name) {
  if (is_gguf(name)) return name;
  if (std::filesystem::exists(name / "case.json") || !std::filesystem::is_directory(name)) return {};
  const bool model = std::filesystem::exists(name / "config.json") || latest_checkpoint(name).has_value();
  return model ? resolve_model_folder(name) : std::filesystem::path();
}

}  // namespace

void verify(const VerifyFlags& flags) {
  for (const std::string& name : flags.folders)
    check(std::filesystem::exists(name), "{} is not there; give folders of cases or models, or .gguf files", name);
  for (const std::string& name : flags.folders)
    check(is_gguf(name) || std::filesystem::is_directory(name),
          "{} is a file of another kind; give folders of cases or models, or .gguf files", name);
  const bool on_reference = flags.common.device == "reference";
  for (const std::string& name : flags.folders)
    check(model_in(name).empty() || !on_reference,
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
    const std::filesystem::path model = model_in(folder);
    const auto verified = model.empty() ? verify_case : verify_beside_reference;
    verified(*backend, model.empty() ? std::filesystem::path(folder) : model, [&](const VerifyRow& row) {
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
