#pragma once
// A mixture of experts (Shazeer et al. 2017) in place of a Decoder's feed-forward layer.

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// The weighted sum of what the experts that x [B, T, C] chooses make of it, plus residual, the tensors under NAME: a
/// router NAME.gate and gated feed-forward layers NAME.experts.0, 1, ... (Decoder::Experts says how these call their
/// weights); with the expert that all tokens take, NAME.shared_expert, times the sigmoid of NAME.shared_expert_gate
/// where it has one; experts between two projections where they have columns of their own (Experts::latent). The result
/// is like x.
Value mixture(Layers& layers, const Decoder& decoder, Value x, const std::string& name, Value residual);
/// The sum of a feed-forward layer's results and of a mixture's beside it, as Gemma 4 has them (Experts::own_norms):
/// norm 1 of `fed` + norm 2 of what the experts make of another norm of x, the router's results times a factor of each
/// expert; the tensors under `layer`.
Value normed_mixture(Layers& layers, const Decoder& decoder, Value x, Value fed, const std::string& layer);
/// The parameters of either: one tensor each in files, one for all experts in graphs.
void add_mixture(ParameterList& list, const Decoder& decoder, const std::string& name);

}  // namespace vkformer
