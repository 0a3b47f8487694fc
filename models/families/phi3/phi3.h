#pragma once
// Phi-3 (Abdin et al. 2024): joint projections in files, rotary positions on a part of each head, longrope.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_phi3(const JsonObject& config);

}  // namespace vkformer
