#pragma once
// GLM 4.5, 4.6 and 4.7 (Zeng et al. 2025): mixtures of experts in all layers but the first. Keys of config.json and
// tensor names are those of transformers' Glm4MoeConfig.

#include "models/model.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for experts in groups.
Model make_glm4_moe(const JsonObject& json);

}  // namespace vkformer
