#pragma once
// BLOOM (BigScience 2022): LayerNorm, also of the embeddings, no positions but scores that fall with the distance.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_bloom(const JsonObject& config);

}  // namespace vkformer
