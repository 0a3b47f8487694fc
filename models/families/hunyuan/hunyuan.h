#pragma once
// Hunyuan (Tencent 2025), dense: LLaMA whose queries and keys are normed, each head, once they have turned.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_hunyuan(const JsonObject& config);

}  // namespace vkformer
