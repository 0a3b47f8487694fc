#pragma once

#include "runtime/graph.h"

namespace vkformer {

/// Exponential moving average: `average` becomes average + rate[0] (x - average), with a rate of 1 x itself (whatever
/// it held before, NaN included). `rate` is f32 [1], 0 < rate <= 1; x has as many elements as average. The result is
/// average's storage, changed in place. Not differentiable.
Value moving_average(Graph& graph, Value average, Value x, Value rate);

}  // namespace vkformer
