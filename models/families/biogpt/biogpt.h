#pragma once
// BioGPT (Luo et al. 2022): learned positions from row 2 on, embeddings times sqrt(C).

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for what is not supported.
Model make_biogpt(const JsonObject& config);

}  // namespace vkformer
