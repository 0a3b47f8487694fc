#pragma once
// Falcon-H1 (Zuo et al. 2025): in each layer attention and a state space layer (Mamba 2) read the same, side by side;
// factors of what nearly every part sees or gives.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for what is not supported.
Model make_falcon_h1(const JsonObject& config);

}  // namespace vkformer
