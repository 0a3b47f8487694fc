#pragma once
// What XLNet's tensors are called in files; internal to this folder.

#include "models/families/xlnet/xlnet.h"

namespace vkformer::xlnet {

inline constexpr const char* tokens_name = "transformer.word_embedding.weight";
inline constexpr const char* mask_name = "transformer.mask_emb";
std::string layer_name(int64_t layer);

std::vector<ParameterSpec> parameters_of(const XlnetConfig& config);

}  // namespace vkformer::xlnet
