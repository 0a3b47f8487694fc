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
/// Whether `positions` of each row should form keys and values of `seen` ones that lie in a cache. Each of those costs
/// (plain + value_width) * rank multiply-adds a head, and so does each position where they are not formed, when each
/// pair takes two to four times as many. That evens out at 170 to 400 positions, but only formed ones go to matrix
/// cores.
bool forming_pays(const Decoder& decoder, int64_t rows, int64_t positions, int64_t seen);
/// Its parameters.
void add_latent_attention(ParameterList& list, const Decoder& decoder, const std::string& name);

}  // namespace vkformer
