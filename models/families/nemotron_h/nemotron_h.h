#pragma once
// Nemotron-H (NVIDIA 2025), Nemotron Nano 2 and Nemotron 3: layers of one part each, which is a state space (Mamba 2),
// attention without positions, a feed-forward layer of the square of relu, or a mixture of such. Keys of config.json
// are those of transformers' NemotronHConfig, tensor names those of the released files.

#include "models/model.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for what is not supported.
Model make_nemotron_h(const JsonObject& json);

}  // namespace vkformer
