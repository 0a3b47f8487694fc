#pragma once
// gpt-oss (OpenAI 2025): experts with biases and a gate of their own, attention with a sink for each head, windows in
// every other layer.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_gpt_oss(const JsonObject& config);

}  // namespace vkformer
