#include "models/verify/verify.h"

#include <set>

#include "models/verify/recorded_case.h"
#include "models/verify/verify_ops.h"
#include "models/verify/verify_parts.h"

namespace vkformer {

namespace {

/// A folder of tokenizers: each of them. False when it has none.
bool verify_tokenizers(const std::filesystem::path& folder, const std::function<void(const VerifyRow&)>& report) {
  if (!std::filesystem::is_directory(folder)) return false;
  std::set<std::filesystem::path> kinds;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (holds_tokenizer_case(entry.path())) kinds.insert(entry.path());
  for (const auto& kind : kinds) verify_tokenizer(kind, kind.filename().generic_string() + ": ", report);
  return !kinds.empty();
}

void verify_model(Backend& backend, const std::filesystem::path& folder,
                  const std::function<void(const VerifyRow&)>& report) {
  const RecordedCase recorded(backend, folder, report);
  if (recorded.model().task == Task::match) return verify_match(recorded);
  verify_forward(recorded);
  verify_two_stream(recorded);
  verify_gradients(recorded);
  verify_training(recorded);
  verify_generation(backend, folder, recorded.model(), recorded.manifest(), recorded.expected(), report);
}

}  // namespace

void verify_case(Backend& backend, const std::filesystem::path& folder,
                 const std::function<void(const VerifyRow&)>& report) {
  try {
    if (std::filesystem::exists(folder / "ops.json")) return verify_ops(backend, folder, report);
    if (holds_tokenizer_case(folder)) return verify_tokenizer(folder, "", report);
    if (verify_tokenizers(folder, report)) return;
    check(std::filesystem::exists(folder / "case.json"),
          "there is no model here, and nothing that was recorded (case.json, ops.json); check the path");
    verify_model(backend, folder, report);
  } catch (const std::exception& error) {
    report({.tensor = "(case)", .how = "", .verdict = VerifyRow::Verdict::failed, .note = error.what()});
  }
}

}  // namespace vkformer
