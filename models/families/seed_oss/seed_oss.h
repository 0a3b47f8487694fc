#pragma once
// Seed-OSS (ByteDance 2025): LLaMA with biases of q, k and v, and dropout of what its parts give.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_seed_oss(const JsonObject& config);

}  // namespace vkformer
