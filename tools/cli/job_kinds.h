#pragma once
// The kinds of files that `train` makes models of.

#include <span>
#include <string>
#include <vector>

#include "tools/cli/train_job.h"

namespace vkformer {

/// One option of `train`.
struct JobKind {
  using Make = TrainJob(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);

  const char* option;     ///< "--pairs"
  const char* type_name;  ///< "SOURCE TARGET"
  const char* help;
  std::vector<std::string> roles;  ///< of its files, in their order; with --valid "valid " and the same
  bool has_valid;                  ///< --valid goes with it
  Make* make;                      ///< `checkpoint`: of a run that is resumed, or empty
};

std::span<const JobKind> job_kinds();

/// The kind whose files these are, by their roles.
const JobKind& kind_of_files(const std::vector<RunFile>& files);

/// The kind whose option the flags have; nullptr when there is none. Throws UsageError for several.
const JobKind* kind_of_flags(const TrainFlags& flags);

}  // namespace vkformer
