#pragma once
// GLM 4 (GLM Team 2024): LLaMA whose rotary positions turn neighbours in half of each head, with biases of q, k and v,
// as model_type "glm"; its version 0414, "glm4", also norms what its parts give.

#include "models/model.h"

namespace vkformer {

/// Of a config.json whose model_type is "glm" or "glm4". Throws Error naming file and key for values that can't be.
Model make_glm(const JsonObject& config);

}  // namespace vkformer
