#pragma once
// Ministral 3 (Mistral AI 2025): Mistral without windows, whose queries grow beyond the original context (Llama 4).

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_ministral3(const JsonObject& config);

}  // namespace vkformer
