#pragma once
// EXAONE 4.0 (LG AI Research 2025): OLMo 2's norms, but of each head's queries and keys; large ones have windows in
// three layers of four and no positions in the fourth.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_exaone4(const JsonObject& config);

}  // namespace vkformer
