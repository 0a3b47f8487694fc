#include "tools/cli/run_files.h"

#include <algorithm>
#include <filesystem>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/content_print.h"
#include "tools/cli/job_kinds.h"

namespace vkformer {

namespace {

const std::string valid_prefix = "valid ";

std::vector<RunFile> named_files(const TrainFlags& flags, const std::vector<RunFile>& before) {
  const JobKind* kind = kind_of_flags(flags);
  if (kind == nullptr) kind = &kind_of_files(before);
  if (!flags.valid.empty() && kind->roles_of(flags.valid.size()).empty())
    throw UsageError(fmt::format("--valid takes as many files as {}: {}", kind->option, kind->roles.size()));
  std::vector<RunFile> files;
  const auto add = [&](const std::string& prefix, const std::vector<std::string>& paths) {
    const std::vector<std::string> roles = kind->roles_of(paths.size());
    for (size_t i = 0; i < paths.size(); ++i) files.push_back({prefix + roles[i], paths[i], {}});
  };
  if (flags.files.contains(kind->option)) add("", flags.files.at(kind->option));
  add(valid_prefix, flags.valid);
  return files;
}

/// The option that names a file of this role.
std::string option_of_role(const std::string& role) {
  if (role.starts_with(valid_prefix)) return "--valid";
  for (const JobKind& kind : job_kinds())
    if (role == kind.one_role || std::ranges::find(kind.roles, role) != kind.roles.end()) return kind.option;
  return role;
}

}  // namespace

const RunFile* find_file(const std::vector<RunFile>& files, std::string_view role) {
  const auto found = std::ranges::find(files, role, &RunFile::role);
  return found == files.end() ? nullptr : &*found;
}

std::vector<RunFile> read_run_files(const TrainFlags& flags, const std::vector<RunFile>& before) {
  std::vector<RunFile> files = named_files(flags, before);
  for (const RunFile& old : before)
    if (!find_file(files, old.role)) files.push_back(old);
  for (RunFile& file : files) {
    file.mapped = std::make_shared<const MappedFile>(file.path);
    file.content = file.mapped->text();
    file.print = content_print(file.content);
    file.path = std::filesystem::absolute(file.path).generic_string();
    check(is_utf8(file.path), "{}: state.json can't keep a path that is not UTF-8; rename it", printable(file.path));
    if (before.empty()) continue;
    const RunFile* old = find_file(before, file.role);
    check(old != nullptr, "this run was begun without {} {}; leave it out", option_of_role(file.role), file.path);
    check(old->print == file.print, "{} is not the text this run was trained on; give that one with {}", file.path,
          option_of_role(file.role));
  }
  return files;
}

}  // namespace vkformer
