#pragma once
// GPT-NeoX (Black et al. 2022; Pythia): rotary positions on a part of each head, attention and feed-forward side by
// side on one residual.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_gpt_neox(const JsonObject& config);

}  // namespace vkformer
