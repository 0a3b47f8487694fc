#pragma once
// What the recurrent layers of a Decoder have in common: ops that go on from states where the pass has a cache.

#include "models/families/layers.h"
#include "shaders/causal_convolution/causal_convolution.h"
#include "shaders/gated_delta_rule/gated_delta_rule.h"

namespace vkformer {

/// The convolution; over a pass's cache from the tail that layer `index` keeps.
Value convolved(Layers& layers, const CausalConvolution& of, int64_t index);
/// The same of the rule, and the layer's state.
Value recurred(Layers& layers, const GatedDeltaRule& of, int64_t index);
/// The parameters of a convolution of `columns` channels over `positions`, as PyTorch begins them.
void add_convolution(ParameterList& list, const std::string& name, int64_t columns, int64_t positions, bool bias);
/// Its weight [columns, positions], which files have as [columns, 1, positions].
Value convolution_weight(Layers& layers, const std::string& name, int64_t columns, int64_t positions);

/// NAME.A_log of so many heads, which begins with the logarithms of what `rate` says of each; none is drawn.
void add_rates(ParameterList& list, const std::string& name, int64_t heads, float (*rate)(int64_t head, int64_t heads));

}  // namespace vkformer
