#pragma once
// GPT-Neo (Black et al. 2021; TinyStories): learned positions, a window in every other layer, scores that are not
// scaled.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_gpt_neo(const JsonObject& config);

}  // namespace vkformer
