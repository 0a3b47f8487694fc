#pragma once
// Granite (IBM 2024): LLaMA whose embeddings, scores, residuals and logits are scaled, with experts or without; Granite
// 4, with state spaces in place of attention in most layers and experts beside the feed-forward layers.

#include "models/model.h"

namespace vkformer {

/// Of a config.json whose model_type is "granite", "granitemoe" or "granitemoehybrid". Throws Error naming file and key
/// for values that can't be, and for what is not supported.
Model make_granite(const JsonObject& config);

}  // namespace vkformer
