#pragma once
// LFM2 (Liquid AI 2025): in most layers a short convolution between gates stands for attention; with or without
// mixtures of experts. Keys of config.json and tensor names are those of transformers' Lfm2Config and Lfm2MoeConfig.

#include "models/model.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_lfm2(const JsonObject& json);

}  // namespace vkformer
