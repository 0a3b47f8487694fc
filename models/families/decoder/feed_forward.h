#pragma once
// What follows attention in a layer of a Decoder.

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// down(gate(x) * up(x)) + residual, the tensors under NAME: x [B, T, C], like the result.
Value feed_forward(Layers& layers, const Decoder& decoder, Value x, const std::string& name, Value residual);
/// Its parameters.
void add_feed_forward(ParameterList& list, const Decoder& decoder, const std::string& name);

}  // namespace vkformer
