#pragma once
// Qwen2 as a mixture of experts (Yang et al. 2024), with one expert that every token takes.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_qwen2_moe(const JsonObject& config);

}  // namespace vkformer
