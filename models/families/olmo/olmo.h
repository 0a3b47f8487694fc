#pragma once
// OLMo (Groeneveld et al. 2024): LLaMA with LayerNorm that has neither gain nor bias.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_olmo(const JsonObject& config);

}  // namespace vkformer
