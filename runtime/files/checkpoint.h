#pragma once
// Checkpoints of a run directory: several files that change together.
//
//   RUN/checkpoint-000200/   complete: the folder gets this name only when all its files are on the disk
//   RUN/checkpoint-000300.tmp/   being written, or left behind by a kill
//   RUN/latest               one line, "checkpoint-000200": what counts
//
// Whatever instant a process is killed at, `latest` names a complete checkpoint: the previous one or the new one.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/host/folder_lock.h"

namespace vkformer {

/// The folder that RUN/latest names, or nothing when the run has no checkpoint yet. Throws Error when `latest` does not
/// name a checkpoint folder that exists.
std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& run);

/// The newest complete checkpoint of a folder that has lost `latest`, or was never told; nothing when there is none.
std::optional<std::filesystem::path> unnamed_checkpoint(const std::filesystem::path& run);

/// The checkpoint of a run that a place is, or lies in, there already or not; nothing where it is outside of all.
std::optional<std::filesystem::path> checkpoint_around(const std::filesystem::path& place);

/// The step that a checkpoint's folder is named after. Throws Error for another name.
int64_t named_step(const std::filesystem::path& checkpoint);

/// The complete checkpoints of a run up to the latest, newest first: that one, and those of steps that are multiples of
/// `every`.
std::vector<std::filesystem::path> kept_checkpoints(const std::filesystem::path& run, int64_t every = 1);

/// Throws Error while a CheckpointWriter, of whatever process, has this run.
void check_not_in_use(const std::filesystem::path& run);

/// Writes the checkpoints of one run. Only one writer can exist for a run directory, in all processes.
class CheckpointWriter {
 public:
  /// Whether a commit removes the checkpoints before it, or keeps one more until remove_older().
  enum class Older : uint8_t { remove, keep };

  /// Creates the directory if needed, takes it, and removes what a killed writer left unfinished. Keeps the newest
  /// `keep` checkpoints (while a new one is written the disk must hold one more); of those before the latest only steps
  /// that are multiples of `every` count, so that an interrupted run keeps what an undisturbed one does. Throws Error.
  explicit CheckpointWriter(std::filesystem::path run, int keep = 1, int64_t every = 1);

  /// Calls write(folder), which puts the files into that empty folder, and makes them the latest checkpoint. The folder
  /// is named after `step`; committing a step again is fine. When this throws, the previous checkpoint is untouched,
  /// and what had been written is removed. Returns the folder's final path.
  std::filesystem::path commit(int64_t step, const std::function<void(const std::filesystem::path& folder)>& write,
                               Older older = Older::remove);
  /// Throws Error when the directory's path leads elsewhere by now: it was moved or removed, and another run may be in
  /// its place. All that writes or removes asks this first.
  void check_place() const;
  /// The step of the latest checkpoint; nothing when there is none yet.
  std::optional<int64_t> latest_step() const;
  /// Removes all but the newest `keep` checkpoints: the latest one has proved good.
  void remove_older() const;
  /// Makes the checkpoint before the latest one the latest, removes that, and gives its step. Nothing, and changes
  /// nothing, when there is none before it.
  std::optional<int64_t> withdraw() const;

 private:
  std::optional<std::filesystem::path> latest() const;
  void remove_leftovers() const;
  void remove_all_but_newest(const std::filesystem::path& newest, Older older) const;

  std::filesystem::path run_;
  int keep_;
  int64_t every_;
  host::FolderLock lock_;
};

}  // namespace vkformer
