#pragma once
// A training between its command line and its first iteration.

#include "tools/cli/train_state.h"

namespace vkformer {

struct PreparedTraining {
  TrainFlags flags;
  RunState state = {};
  TrainJob job = {};
  std::unique_ptr<Backend> backend = nullptr;
  std::optional<Trainer> trainer = {};  ///< with the weights of state.iteration; none with --plan
};

/// All that a training needs, from its flags. Writes nothing. `group`: of the processes that share it. Throws Error
/// for what can't be.
void prepare(PreparedTraining& training, ProcessGroup& group);

/// Gives the job's data what it needs of the model as a new run begins; every process does it.
void begin(PreparedTraining& training);

/// Trains, prints and writes.
void run(PreparedTraining& training);

/// The training of several processes: process 0 runs it, the others help. Only what process 0 throws is for people.
void train_with_others(ProcessLink& link, TrainFlags flags);

}  // namespace vkformer
