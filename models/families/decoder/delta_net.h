#pragma once
// What stands for attention in the recurrent layers of a Decoder (Yang et al. 2024, "Gated Delta Networks"; Qwen3.5).

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// A gated delta net of x [B, T, C], + residual; the tensors under NAME. Over a pass's cache it goes on from the states
/// of layer `index`.
Value delta_net(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index,
                Value residual);
/// Its parameters.
void add_delta_net(ParameterList& list, const Decoder& decoder, const std::string& name);
/// What it reads besides.
std::vector<ConstantSpec> delta_net_constants(const Decoder& decoder);

}  // namespace vkformer
