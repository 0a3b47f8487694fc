#pragma once
// StableLM (Stability AI 2023): LLaMA with LayerNorm and rotary positions on a part of each head.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_stablelm(const JsonObject& config);

}  // namespace vkformer
