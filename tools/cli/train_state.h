#pragma once
// What a run is at some iteration, as its checkpoints keep it: state.json beside the model folder's files.

#include "models/text/vocabulary.h"
#include "runtime/files/checkpoint.h"
#include "tools/cli/commands.h"

namespace vkformer {

/// Everything a resumed run needs besides its settings and the text.
struct RunState {
  int64_t iteration = 0;
  std::string data;         ///< the text's path
  std::string fingerprint;  ///< of the text
};

/// Tells one text from another; not a secret.
std::string fingerprint(std::string_view text);

/// Writes a checkpoint and keeps the one before it: a model folder whose config says that no id begins, ends or pads a
/// text, since tokens are characters or bytes; the optimiser's state, and state.json.
void save_checkpoint(CheckpointWriter& writer, TrainFlags& flags, const RunState& state, const Model& model,
                     const Vocabulary& vocabulary, const Trainer& trainer);

/// Reads state.json. Settings given on the command line stay, the others become the run's own. Throws UsageError for
/// options that a resumed run can't change, and Error naming file and key for values that can't be.
RunState load_state(const std::filesystem::path& checkpoint, TrainFlags& flags);

}  // namespace vkformer
