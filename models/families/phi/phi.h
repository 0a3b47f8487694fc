#pragma once
// Phi 1, 1.5 and 2 (Li et al. 2023): attention and feed-forward side by side behind one norm, rotary positions on a
// part of each head, biases everywhere.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_phi(const JsonObject& config);

}  // namespace vkformer
