#include "tools/cli/run_files.h"

#include <algorithm>
#include <filesystem>

#include "models/data/text_windows.h"
#include "runtime/check.h"
#include "runtime/hash.h"
#include "tools/cli/commands.h"

namespace vkformer {

namespace {

std::string fingerprint(std::string_view text) {
  uint64_t hash = hash_start;
  for (char c : text) hash = hash_step(hash, static_cast<uint8_t>(c));
  return fmt::format("{}-{:016x}", text.size(), hash);
}

/// The option that names a file of this role.
std::string_view option_of_role(std::string_view role) {
  if (role == "text") return "--data";
  if (role == "labels") return "--labels";
  return role.starts_with("valid") ? "--valid" : "--pairs";
}

std::vector<RunFile> named_files(const TrainFlags& flags) {
  std::vector<RunFile> files;
  if (!flags.data.empty()) files.push_back({"text", flags.data, {}, {}});
  if (!flags.labels.empty()) files.push_back({"labels", flags.labels, {}, {}});
  const auto add = [&](const std::vector<std::string>& given, const std::string& prefix) {
    if (given.size() == 1) files.push_back({prefix + "labels", given[0], {}, {}});
    if (given.size() != 2) return;
    files.push_back({prefix + "source", given[0], {}, {}});
    files.push_back({prefix + "target", given[1], {}, {}});
  };
  add(flags.pairs, "");
  add(flags.valid, "valid ");
  return files;
}

}  // namespace

const RunFile* find_file(const std::vector<RunFile>& files, std::string_view role) {
  const auto found = std::ranges::find(files, role, &RunFile::role);
  return found == files.end() ? nullptr : &*found;
}

std::vector<RunFile> read_run_files(const TrainFlags& flags, const std::vector<RunFile>& before) {
  std::vector<RunFile> files = named_files(flags);
  for (const RunFile& old : before)
    if (!find_file(files, old.role)) files.push_back(old);
  for (RunFile& file : files) {
    file.content = read_text(file.path);
    file.print = fingerprint(file.content);
    file.path = std::filesystem::absolute(file.path).string();
    if (before.empty()) continue;
    const RunFile* old = find_file(before, file.role);
    check(old != nullptr, "this run was begun without {} {}; leave it out", option_of_role(file.role), file.path);
    check(old->print == file.print, "{} is not the text this run was trained on; give that one with {}", file.path,
          option_of_role(file.role));
  }
  return files;
}

}  // namespace vkformer
