#include "runtime/files/checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <vector>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"
#include "runtime/host/files.h"

namespace vkformer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view latest_name = "latest";
constexpr std::string_view unfinished_suffix = ".tmp";

/// "checkpoint-000123", or "checkpoint-000123-2" for the second one of that step.
struct CheckpointName {
  int64_t step = 0;
  int copy = 1;

  std::string to_string() const {
    return copy == 1 ? fmt::format("checkpoint-{:06}", step) : fmt::format("checkpoint-{:06}-{}", step, copy);
  }
  auto operator<=>(const CheckpointName&) const = default;
};

/// Only names that to_string() gives: nothing else in a run directory is ever read, renamed or removed.
std::optional<CheckpointName> parse_name(std::string_view text) {
  constexpr std::string_view prefix = "checkpoint-";
  if (!text.starts_with(prefix)) return std::nullopt;
  CheckpointName name;
  const char* const end = text.data() + text.size();
  const auto step = std::from_chars(text.data() + prefix.size(), end, name.step);
  if (step.ec != std::errc() || name.step < 0) return std::nullopt;
  if (step.ptr != end && std::from_chars(step.ptr + 1, end, name.copy).ec != std::errc()) return std::nullopt;
  return name.copy >= 1 && name.to_string() == text ? std::optional(name) : std::nullopt;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().generic_string());
  check(!error, "cannot read {}: {}; check its permissions", printable(folder.generic_string()), error.message());
  return names;
}

/// The checkpoints of a run, newest first.
std::vector<CheckpointName> checkpoints_in(const fs::path& run) {
  std::vector<CheckpointName> checkpoints;
  for (const std::string& name : names_in(run))
    if (const auto checkpoint = parse_name(name)) checkpoints.push_back(*checkpoint);
  std::sort(checkpoints.rbegin(), checkpoints.rend());
  return checkpoints;
}

/// Whether `latest` may name this checkpoint; only where it can be read and names another, or is not there, it does
/// not.
bool may_be_latest(const fs::path& run, const std::string& name) {
  const fs::path latest = run / latest_name;
  std::error_code error;
  if (fs::symlink_status(latest, error).type() == fs::file_type::not_found) return false;
  try {
    return MappedFile(latest).text() == name + '\n';
  } catch (const std::exception&) {
    return true;
  }
}

/// Renames first, so that a folder with a checkpoint's name is complete even if removing it is interrupted. What
/// another program has open may stay on Windows, until a later run begins.
void remove_checkpoint(const fs::path& folder) {
  fs::path unfinished = folder;
  unfinished += unfinished_suffix;
  std::error_code ignored;  // the next commit tries again, and a full disk is reported by the writes
  fs::rename(folder, unfinished, ignored);
  fs::remove_all(unfinished, ignored);
}

/// The folder of a run, which nobody else has meanwhile. Throws Error when another process has it.
host::FolderLock take(const fs::path& run) {
  host::FolderLock lock;
  const int error = lock.take(run);
  check(error != EWOULDBLOCK, "{} is in use by another training process; wait for it or choose another run directory",
        printable(run.generic_string()));
  check(error == 0, "cannot open the run directory {}: {}; check its permissions", printable(run.generic_string()),
        std::generic_category().message(error));
  return lock;
}

}  // namespace

void check_not_in_use(const fs::path& run) {
  if (fs::is_directory(run)) take(run);
}

std::optional<fs::path> latest_checkpoint(const fs::path& run) {
  const fs::path latest = run / latest_name;
  std::error_code error;
  if (fs::symlink_status(latest, error).type() == fs::file_type::not_found) return std::nullopt;
  const MappedFile file(latest);
  std::string_view name = file.text();
  if (name.ends_with('\n')) name.remove_suffix(1);
  const fs::file_type type = parse_name(name) ? fs::status(run / name, error).type() : fs::file_type::not_found;
  check(type != fs::file_type::none, "cannot read {}: {}; check the disk and its permissions",
        printable((run / name).generic_string()), error.message());
  check(type == fs::file_type::directory,
        "{} names {}, which is not a checkpoint folder beside it; write the name of one into it, or remove it to start "
        "afresh",
        printable(latest.generic_string()), in_quotes(name));
  return run / name;
}

std::optional<fs::path> unnamed_checkpoint(const fs::path& run) {
  std::error_code error;
  if (!fs::is_directory(run, error) || latest_checkpoint(run)) return std::nullopt;
  const std::vector<CheckpointName> found = checkpoints_in(run);
  return found.empty() ? std::nullopt : std::optional(run / found.front().to_string());
}

std::optional<fs::path> checkpoint_around(const fs::path& place) {
  std::error_code error;
  for (fs::path at = fs::weakly_canonical(fs::absolute(place), error); at.has_relative_path(); at = at.parent_path())
    if (parse_name(at.filename().generic_string()) && fs::exists(at.parent_path() / latest_name, error)) return at;
  return std::nullopt;
}

int64_t named_step(const fs::path& checkpoint) {
  const auto name = parse_name(checkpoint.filename().generic_string());
  check(name.has_value(), "{} is not named as a checkpoint", printable(checkpoint.generic_string()));
  return name->step;
}

std::vector<fs::path> kept_checkpoints(const fs::path& run, int64_t every) {
  std::vector<fs::path> folders;
  const auto latest = latest_checkpoint(run);
  if (!latest) return folders;
  const CheckpointName current = parse_name(latest->filename().generic_string()).value();
  for (const CheckpointName& name : checkpoints_in(run))
    if (name == current || (name < current && name.step % every == 0)) folders.push_back(run / name.to_string());
  return folders;
}

CheckpointWriter::CheckpointWriter(fs::path run, int keep, int64_t every)
    : run_(std::move(run)), keep_(keep), every_(every) {
  check(keep_ >= 1, "cannot keep {} checkpoints; keep at least 1", keep_);
  const std::string where = printable(run_.generic_string());
  std::error_code error;
  fs::create_directories(run_, error);
  check(!error, "cannot create the run directory {}: {}; choose another place", where, error.message());
  latest_checkpoint(run_);  // a damaged run is reported before hours of work, not after
  lock_ = take(run_);
  remove_leftovers();
}

void CheckpointWriter::check_place() const {
  check(lock_.is_at(run_),
        "{} is not the folder any more that this run began in: it was moved, removed or replaced; go on with "
        "--resume where it is now",
        printable(run_.generic_string()));
}

std::optional<fs::path> CheckpointWriter::latest() const try { return latest_checkpoint(run_); } catch (const Error&) {
  check_place();  // a folder that goes while it is read looks damaged
  throw;
}

std::optional<int64_t> CheckpointWriter::latest_step() const {
  const auto latest = this->latest();
  return latest ? std::optional(named_step(*latest)) : std::nullopt;
}

void CheckpointWriter::remove_leftovers() const {
  for (const std::string& name : names_in(run_)) {
    std::string_view stem = name;
    const bool unfinished = stem.ends_with(unfinished_suffix);
    if (unfinished) stem.remove_suffix(unfinished_suffix.size());
    if ((unfinished && parse_name(stem)) || name.find(".tmp-") != std::string::npos) {
      std::error_code error;
      fs::remove_all(run_ / name, error);
      check(!error || host::is_held(error), "cannot remove {}, left behind by a killed run: {}; remove it by hand",
            printable((run_ / name).generic_string()), error.message());
    }
  }
}

void CheckpointWriter::remove_all_but_newest(const fs::path& newest, Older kept) const {
  const CheckpointName current = parse_name(newest.filename().generic_string()).value();
  std::vector<CheckpointName> found;
  try {
    found = checkpoints_in(run_);
  } catch (const Error&) {
    return;  // the next commit tries again
  }
  const int most = kept == Older::keep ? keep_ : keep_ - 1;
  int older = 0;
  for (const CheckpointName& name : found) {
    if (name == current) continue;
    // A later step was never the latest (its writer was killed first) or belongs to a future that was abandoned. One
    // between the multiples is needed only as long as the latest is unproved.
    const bool between = kept == Older::remove && name.step % every_ != 0;
    if (name > current || between || ++older > most) remove_checkpoint(run_ / name.to_string());
  }
}

void CheckpointWriter::remove_older() const {
  check_place();
  if (const auto latest = this->latest()) remove_all_but_newest(*latest, Older::remove);
}

std::optional<int64_t> CheckpointWriter::withdraw() const {
  check_place();
  const auto latest = this->latest();
  if (!latest) return std::nullopt;
  const CheckpointName current = parse_name(latest->filename().generic_string()).value();
  for (const CheckpointName& name : checkpoints_in(run_)) {
    if (name >= current) continue;
    write_file_atomically(run_ / latest_name, name.to_string() + '\n');
    remove_checkpoint(*latest);
    return name.step;
  }
  return std::nullopt;
}

fs::path CheckpointWriter::commit(int64_t step, const std::function<void(const fs::path&)>& write, Older older) {
  check(step >= 0, "cannot write a checkpoint of step {}; steps count from 0", step);
  check_place();
  CheckpointName name{step};
  std::error_code error;
  while (fs::exists(run_ / name.to_string(), error)) ++name.copy;
  const fs::path folder = run_ / name.to_string();
  fs::path unfinished = folder;
  unfinished += unfinished_suffix;

  fs::remove_all(unfinished, error);
  if (!error) fs::create_directory(unfinished, error);
  check(!error, "cannot create {}: {}; check the disk and its permissions", printable(unfinished.generic_string()),
        error.message());
  try {
    write(unfinished);
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(unfinished))
      if (entry.is_regular_file() || entry.is_directory()) sync_to_disk(entry.path());
    sync_to_disk(unfinished);
    if (const int failed = host::rename(unfinished, folder))
      throw fs::filesystem_error("rename", std::error_code(failed, std::generic_category()));
  } catch (const fs::filesystem_error& failure) {
    fs::remove_all(unfinished, error);
    check_place();
    fail("cannot write {}: {}; check the disk and its permissions", printable(folder.generic_string()),
         failure.code().message());
  } catch (...) {
    fs::remove_all(unfinished, error);
    check_place();  // what went wrong then is only a consequence
    throw;
  }
  try {
    sync_to_disk(run_);
    write_file_atomically(run_ / latest_name, name.to_string() + '\n');
  } catch (...) {
    // The failure may have come after the new content of `latest` was in place.
    if (!may_be_latest(run_, name.to_string())) remove_checkpoint(folder);
    throw;
  }
  remove_all_but_newest(folder, older);
  return folder;
}

}  // namespace vkformer
