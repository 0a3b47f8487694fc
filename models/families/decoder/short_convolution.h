#pragma once
// What stands for attention in most layers of LFM2: a convolution over a few positions between two gates.

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// out(C * convolution(B * x')) + residual of x [B, T, C], with B, C and x' from one projection; the tensors under
/// NAME. Over a pass's cache it goes on from the state of layer `index`.
Value short_convolution(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index,
                        Value residual);
/// Its parameters.
void add_short_convolution(ParameterList& list, const Decoder& decoder, const std::string& name);

}  // namespace vkformer
