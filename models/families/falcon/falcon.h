#pragma once
// Falcon (Almazrouei et al. 2023): attention and feed-forward layers beside each other, behind one norm (7B, and 11B)
// or one each (40B, 180B), whose heads share one head of keys or are in groups.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for what is not supported.
Model make_falcon(const JsonObject& config);

}  // namespace vkformer
