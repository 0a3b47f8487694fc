#pragma once
// StarCoder2 (Lozhkov et al. 2024): rotary positions, grouped queries, a sliding window, biases.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_starcoder2(const JsonObject& config);

}  // namespace vkformer
