#pragma once
// LLaMA (Touvron et al. 2023) and its kin Mistral (sliding window), Qwen2 (biases of q, k, v) and Arcee (no gates).

#include "models/model.h"

namespace vkformer {

/// Of a config.json whose model_type is "llama", "mistral", "qwen2" or "arcee". Throws Error naming file and key for
/// values that can't be.
Model make_llama(const JsonObject& config);

}  // namespace vkformer
