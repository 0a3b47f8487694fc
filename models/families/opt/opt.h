#pragma once
// OPT (Zhang et al. 2022): learned positions from row 2 on, ReLU; the model of 350M parameters has norms of the sums
// and embeddings of another width than the layers.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_opt(const JsonObject& config);

}  // namespace vkformer
