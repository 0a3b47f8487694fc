#pragma once
// Qwen3 (Yang et al. 2025): heads of queries and keys are normed, nothing has a bias.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_qwen3(const JsonObject& config);

}  // namespace vkformer
