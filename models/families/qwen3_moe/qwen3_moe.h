#pragma once
// Qwen3 as a mixture of experts (Yang et al. 2025): of all or some layers each token takes a few of many feed-forward
// layers.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_qwen3_moe(const JsonObject& config);

}  // namespace vkformer
