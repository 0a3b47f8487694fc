#pragma once
// GPT-BigCode (Ben Allal et al. 2023, SantaCoder; Li et al. 2023, StarCoder): GPT-2 whose heads share one head of keys,
// or have one each.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_gpt_bigcode(const JsonObject& config);

}  // namespace vkformer
