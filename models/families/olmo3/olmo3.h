#pragma once
// OLMo 3 (2025): OLMo 2 with a window in three layers of four, whose rotary positions have no scaling.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_olmo3(const JsonObject& config);

}  // namespace vkformer
