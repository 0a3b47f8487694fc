#pragma once
// GPT-J (Wang and Komatsuzaki 2021): attention and feed-forward side by side behind one norm, rotary positions that
// turn neighbouring columns of a part of each head. CodeGen (Nijkamp et al. 2022): the same, with queries, values and
// keys in one tensor of four pieces.

#include "models/model.h"

namespace vkformer {

/// Throws Error naming file and key for values that can't be.
Model make_gptj(const JsonObject& config);

}  // namespace vkformer
