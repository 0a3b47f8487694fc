#pragma once
// The text models of Gemma 4 (Gemma Team 2026): Gemma 3 with wider heads in the layers without a window, whose values
// may be their keys, norms of values, and a scale of each layer; in the small ones with inputs of each layer and layers
// that see the keys and values of an earlier one, in 26B-A4B with a mixture of experts beside each feed-forward layer.

#include "models/model.h"

namespace vkformer {

/// Of a config.json whose model_type is "gemma4_text" or "gemma4_unified_text" (12B). Throws Error naming file and key
/// for values that can't be.
Model make_gemma4(const JsonObject& config);

}  // namespace vkformer
