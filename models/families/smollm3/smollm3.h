#pragma once
// SmolLM3 (Hugging Face 2025): LLaMA with layers that know no positions.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_smollm3(const JsonObject& config);

}  // namespace vkformer
