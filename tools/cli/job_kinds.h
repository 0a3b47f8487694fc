#pragma once
// The kinds of files that `train` makes models of.

#include <set>
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
  std::string one_role;            ///< of a file that has what is else in several; empty: there is none
  std::set<std::string> options;   ///< of those that not all kinds have
  const char* verb;                ///< that uses the model, and what follows that
  const char* behind;
  Make* make;  ///< `checkpoint`: of a run that is resumed, or empty

  /// The roles of so many files; none when it does not take so many.
  std::vector<std::string> roles_of(size_t count) const;
};

std::span<const JobKind> job_kinds();

/// The kind whose files these are, by their roles.
const JobKind& kind_of_files(const std::vector<RunFile>& files);

/// The kind whose option the flags have; nullptr when there is none. Throws UsageError for several.
const JobKind* kind_of_flags(const TrainFlags& flags);

/// Throws Error, naming the kinds that do, unless this kind trains such a model.
void check_trained_by(const char* option, bool trains, const Model& model);

/// Whether the option means something to this kind; those that no kind lists mean something to all.
bool takes(const JobKind& kind, const std::string& option);

/// Throws UsageError, naming the kinds that have it, when one of the options that were `given` is not for this kind.
void check_options(const JobKind& kind, const std::set<std::string>& given);

}  // namespace vkformer
