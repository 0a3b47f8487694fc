#pragma once
// The files that a run reads. A resumed run must find the same content, so that it sees the same batches.

#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

struct TrainFlags;

struct RunFile {
  std::string role;  ///< "text", "source", "target", "labels", "tags", "answers", and "valid source" ..
  std::string path;
  std::string print;    ///< tells one content from another; not a secret
  std::string content;  ///< the whole file
};

/// The files of the flags or, where those name none, of a run that is resumed; read. Throws Error when one can't be
/// read, and for content that is not the run's.
std::vector<RunFile> read_run_files(const TrainFlags& flags, const std::vector<RunFile>& before);

/// The content of the file with this role; nullptr when there is none.
const RunFile* find_file(const std::vector<RunFile>& files, std::string_view role);

}  // namespace vkformer
