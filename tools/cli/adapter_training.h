#pragma once
// `train --lora`: what rests of a model, in which type, and what is trained beside it.

#include "models/adapters/adapter_files.h"
#include "models/weights.h"
#include "tools/cli/train_state.h"

namespace vkformer {

/// Freezes a model, keeps its weights in the type asked for, or `of_files`, and gives it the adapter of --lora. `base`:
/// what its files call the model; `anew`: parameters that this lacks.
void give_adapter(const TrainFlags& flags, Model& model, DType of_files, const std::string& base,
                  const std::vector<std::string>& anew = {});

/// The same for the folder that a run starts from, whose weights these are; notes that in the run's state.
Weights adapt_folder(const TrainFlags& flags, Model& model, RunState& state);

/// Stores a model's weights as such a run keeps them, for an evaluation of it.
void store_as_trained(const TrainFlags& flags, Model& model);

/// Flags of a training as an adapter's folder tells them that is no run: settings are the usual ones, and the model is
/// `from` or what the folder names. Throws Error where that is not there.
void take_adapter(TrainFlags& flags, const std::filesystem::path& folder);

}  // namespace vkformer
