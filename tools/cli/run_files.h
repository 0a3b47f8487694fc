#pragma once
// The files that a run reads. A resumed run must find the same content, so that it sees the same batches.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/mapped_file.h"

namespace vkformer {

struct TrainFlags;

struct RunFile {
  std::string role;  ///< see job_kinds(); "valid " and that
  std::string path;
  std::string print;  ///< content_print()
  std::shared_ptr<const MappedFile> mapped = {};
  std::string_view content = {};  ///< of `mapped`
};

/// The files of the flags or, where those name none, of a run that is resumed; read. Throws Error when one can't be
/// read, and for content that is not the run's.
std::vector<RunFile> read_run_files(const TrainFlags& flags, const std::vector<RunFile>& before);

/// The content of the file with this role; nullptr when there is none.
const RunFile* find_file(const std::vector<RunFile>& files, std::string_view role);

}  // namespace vkformer
