#pragma once
// MPT (MosaicML 2023): no positions but scores that fall with the distance, no biases.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for what is not supported.
Model make_mpt(const JsonObject& config);

}  // namespace vkformer
