#pragma once
// Mixtral (Jiang et al. 2024): Mistral whose layers have experts each.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_mixtral(const JsonObject& config);

}  // namespace vkformer
