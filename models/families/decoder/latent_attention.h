#pragma once
// Multi-head latent attention (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1) of a Decoder's layers.

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// What layer `index` makes of x [B, T, C] by latent attention, + residual; the tensors under NAME. Each position has
/// one row, of decoder.latent.rank + turned columns, which alone a cache keeps.
///
/// A head's key is K c, its value V c, of a row's c. Where many positions come at once, or all begin here, these are
/// formed, as in any attention. Otherwise (decoding) heads attend to the rows themselves: the score q . K c is
/// K^T q . c, and the result V times the weighted sum of c.
Value latent_attention(Layers& layers, const Decoder& decoder, Value x, const std::string& name, int64_t index,
                       Value residual);
/// Its parameters.
void add_latent_attention(ParameterList& list, const Decoder& decoder, const std::string& name);

}  // namespace vkformer
