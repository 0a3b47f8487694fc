#pragma once
// Granite (IBM 2024): LLaMA whose embeddings, scores, residuals and logits are scaled.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_granite(const JsonObject& config);

}  // namespace vkformer
