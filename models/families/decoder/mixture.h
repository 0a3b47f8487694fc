#pragma once
// A mixture of experts (Shazeer et al. 2017) in place of a Decoder's feed-forward layer.

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// The weighted sum of what the experts that x [B, T, C] chooses make of it, plus residual, the tensors under NAME: a
/// router NAME.gate and gated feed-forward layers NAME.experts.0, 1, ... (Decoder::Experts says how these call their
/// weights); with the expert that all tokens take, NAME.shared_expert, times the sigmoid of NAME.shared_expert_gate.
/// The result is like x.
Value mixture(Layers& layers, const Decoder& decoder, Value x, const std::string& name, Value residual);
/// Its parameters: one tensor each in files, one for all experts in graphs.
void add_mixture(ParameterList& list, const Decoder& decoder, const std::string& name);

}  // namespace vkformer
