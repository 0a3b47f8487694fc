#pragma once
// What a run is at some iteration, as its checkpoints keep it: state.json beside the model folder's files.

#include "runtime/files/checkpoint.h"
#include "tools/cli/run_files.h"
#include "tools/cli/train_job.h"

namespace vkformer {

/// Everything a resumed run needs besides its settings and the content of its files.
struct RunState {
  int64_t iteration = 0;
  std::vector<RunFile> files;
  std::string base_print;  ///< of an adapter's run: base_print() of the folder it starts from
};

/// The settings of a run, as state.json has them.
nlohmann::json settings_of(TrainFlags& flags);
/// The option that sets "learning_rate": "--learning-rate".
std::string option_of_setting(std::string name);

/// Writes the files of a model folder but for its weights.
void write_model(const std::filesystem::path& folder, const TrainJob& job);

/// Writes a checkpoint and keeps the one before it: a model folder, the optimiser's state, and state.json.
void save_checkpoint(CheckpointWriter& writer, TrainFlags& flags, const RunState& state, const TrainJob& job,
                     const Trainer& trainer);

/// Reads state.json; files come without their content. Settings given on the command line stay, the others become the
/// run's own. Throws UsageError for options that a resumed run can't change, and Error naming file and key for values
/// that can't be.
RunState load_state(const std::filesystem::path& checkpoint, TrainFlags& flags);

}  // namespace vkformer
