#pragma once
// OLMoE (Muennighoff et al. 2024): experts in each layer, norms of all queries and keys.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_olmoe(const JsonObject& config);

}  // namespace vkformer
