#pragma once
// nanochat (Karpathy 2025): no gains of norms, the square of relu, positions that turn the other way and before the
// norms of queries and keys, bounded logits.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for what is not supported.
Model make_nanochat(const JsonObject& config);

}  // namespace vkformer
