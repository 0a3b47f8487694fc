#pragma once
// ERNIE 4.5 (Baidu 2025): LLaMA whose rotary positions turn neighbours, also with mixtures of experts.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_ernie4_5(const JsonObject& config);
Model make_ernie4_5_moe(const JsonObject& config);

}  // namespace vkformer
