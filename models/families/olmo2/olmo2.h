#pragma once
// OLMo 2 (Walsh et al. 2025): norms of what attention and feed-forward layers give, and of all queries and keys.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_olmo2(const JsonObject& config);

}  // namespace vkformer
