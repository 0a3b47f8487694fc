#pragma once
// What stands for attention in the state space layers of a Decoder (Dao & Gu 2024, "Mamba 2").

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// A Mamba 2 layer of x [B, T, C], + residual; the tensors under NAME. Over a pass's cache it goes on from the states
/// of layer `index`.
Value mamba(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index, Value residual);
/// What it reads beside them.
std::vector<ConstantSpec> mamba_constants(const Decoder& decoder);
/// Its parameters.
void add_mamba(ParameterList& list, const Decoder& decoder, const std::string& name);

}  // namespace vkformer
