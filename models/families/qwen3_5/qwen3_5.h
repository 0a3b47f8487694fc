#pragma once
// Qwen3.5's decoders: in three layers of four a gated delta net stands for attention, whose results pass gates in the
// fourth. Keys of config.json and tensor names are those of transformers' Qwen3_5TextConfig and Qwen3_5MoeTextConfig.

#include "models/model.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be, and for what is not supported.
Model make_qwen3_5(const JsonObject& json);

}  // namespace vkformer
