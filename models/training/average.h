#pragma once
// The mean of a run's last checkpoints, which generalises better than any of them ("Attention is all you need", 6.1).

#include "models/model.h"

namespace vkformer {

/// Writes model.safetensors with the mean, summed in double, of the parameters in the model.safetensors of these
/// folders, of which there is at least one. Throws Error for files that are not of this model.
void average_weights(const std::vector<std::filesystem::path>& folders, const std::vector<ParameterSpec>& parameters,
                     const std::filesystem::path& file);

}  // namespace vkformer
