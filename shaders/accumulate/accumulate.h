#pragma once

#include "runtime/graph.h"

namespace vkformer {

/// Gradient accumulation over micro-batches: `sum` becomes x if first[0] != 0 (whatever it held before, NaN included)
/// and sum + x otherwise. `first` is i32 [1] in the step buffer; x has as many elements as sum. The result is sum's
/// storage, changed in place. Not differentiable.
Value accumulate(Graph& graph, Value sum, Value x, Value first);

}  // namespace vkformer
