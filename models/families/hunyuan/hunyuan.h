#pragma once
// Hunyuan (Tencent 2025): LLaMA whose queries and keys are normed, each head, once they have turned; dense, or with
// mixtures of experts (A13B).

#include "models/model.h"

namespace vkformer {

/// Of a config.json whose model_type is "hunyuan_v1_dense" or "hunyuan_v1_moe". Throws Error naming file and key for
/// values that can't be, and for what is not supported.
Model make_hunyuan(const JsonObject& config);

}  // namespace vkformer
