#pragma once
// Folders that one process has at a time.

#include <filesystem>

#include "runtime/host/handle.h"

namespace vkformer::host {

/// A folder that was taken, until the object goes or the process ends, in whatever way.
class FolderLock {
 public:
  /// Gives 0, or a number of errno's: EWOULDBLOCK where another has it, also one of this process. Goes without a lock
  /// where the file system has none.
  int take(const std::filesystem::path& folder);
  /// Whether this path still leads to the folder.
  bool is_at(const std::filesystem::path& folder) const;

 private:
  Handle folder_;
  Handle taken_;  ///< of systems whose folders have no locks
};

}  // namespace vkformer::host
