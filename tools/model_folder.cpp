#include "tools/model_folder.h"

#include <fmt/ranges.h>

#include "runtime/check.h"
#include "runtime/files/checkpoint.h"
#include "runtime/files/utf8.h"
#include "tools/progress.h"

namespace vkformer {

std::filesystem::path resolve_model_folder(const std::filesystem::path& given) {
  check(std::filesystem::is_directory(given), "'{}' is not a folder; give a model folder or a run folder",
        given.string());
  if (std::filesystem::exists(given / "config.json")) return given;
  const auto latest = latest_checkpoint(given);
  check(latest.has_value(), "'{}' has neither a config.json nor a checkpoint of a run", given.string());
  return *latest;
}

namespace {

/// Runs `work` with a bar, and says which tensors are not what the config asks for.
void with_bar(const Weights& weights, bool quiet, const std::function<void(const LoadProgress&)>& work) {
  constexpr int64_t mebibyte = 1 << 20;
  constexpr double patience = 0.5;  // seconds
  Progress bar(static_cast<int64_t>(weights.files().bytes()) / mebibyte + 1, quiet, patience);
  work([&](uint64_t done) { bar.show(static_cast<int64_t>(done) / mebibyte, "MiB of weights"); });
  bar.clear();
  if (quiet) return;
  if (!weights.extra().empty()) fmt::print(stderr, "{}\n", skipped_line(weights.extra()));
  if (!weights.absent().empty())
    fmt::print(stderr, "not in the files, so at their start values: {}\n", fmt::join(weights.absent(), ", "));
}

}  // namespace

void load_weights(const Weights& weights, Store& store, bool quiet) {
  with_bar(weights, quiet, [&](const LoadProgress& progress) { weights.load(store, progress); });
}

void save_weights(const Weights& weights, const std::filesystem::path& file, bool quiet) {
  with_bar(weights, quiet, [&](const LoadProgress& progress) { weights.save(file, progress); });
}

std::string skipped_line(const std::vector<std::string>& extra) {
  if (extra.empty()) return "";
  std::vector<std::string> names;
  for (const std::string& name : extra) names.push_back(printable(name, 120));
  return fmt::format("skipped {} tensor{} the model does not use: {}", extra.size(), extra.size() == 1 ? "" : "s",
                     fmt::join(names, ", "));
}

}  // namespace vkformer
