#pragma once
// Command R (Cohere 2024) and Aya: attention and feed-forward layer behind one LayerNorm without bias, rotary positions
// that turn neighbours, a factor of logits; Command R7B and A, "cohere2", with windows in three layers of four and no
// positions in the fourth.

#include "models/model.h"

namespace vkformer {

/// Of a config.json whose model_type is "cohere" or "cohere2". Throws Error naming file and key for values that can't
/// be.
Model make_cohere(const JsonObject& config);

}  // namespace vkformer
