#pragma once
// Attention of a Decoder's layers, of grouped queries (Ainslie et al. 2023, "GQA"), with what families vary.

#include <map>

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// Keys and values by the layer that made them, for later layers that see them.
using SeenKeys = std::map<int64_t, KeysValues>;

/// What layer `index` makes of x [B, T, C] by attention, + residual; the tensors under NAME.
Value self_attention(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index,
                     Value residual, SeenKeys& seen);
/// Its parameters.
void add_self_attention(ParameterList& list, const Decoder& decoder, const Decoder::Layer& layer,
                        const std::string& name);
/// Positions that a layer's window shows to either side in a decoder that sees both ways.
int64_t window_reach(const Decoder& decoder, int64_t window);

}  // namespace vkformer
