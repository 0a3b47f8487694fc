#pragma once
// XGLM (Lin et al. 2021): sinusoids from position 2 on, embeddings times sqrt(C).

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for what is not supported.
Model make_xglm(const JsonObject& config);

}  // namespace vkformer
