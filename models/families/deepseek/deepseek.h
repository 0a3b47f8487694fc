#pragma once
// Mixtures of experts behind latent attention: DeepSeek-V2 (DeepSeek-AI 2024), the smaller ones built as DeepSeek-V3 is
// (Moonlight), and GLM 4.7 Flash. Keys of config.json and tensor names are those of transformers' DeepseekV2Config,
// DeepseekV3Config and Glm4MoeLiteConfig.

#include "models/model.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for experts in groups.
Model make_deepseek(const JsonObject& json);

}  // namespace vkformer
