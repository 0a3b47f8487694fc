#pragma once
// A token from the likeliest ones, as models/generation/sampling.h draws it on the host.

#include "runtime/graph.h"

namespace vkformer {

/// Columns of `settings`: the temperature by which weights are cut, that by which one is drawn, both above 0; the share
/// of all weights that the kept ones reach (1: all of them), the least that one has of the largest, and where among
/// them the draw falls, from 0 to 1.
struct DrawSettings {
  float cut_temperature = 1, temperature = 1, top_p = 1, min_p = 0, place = 0;
};

/// i32 [R, 1]: of each row of values [R, k], the largest first, the one of indices i32 [R, k] that is drawn, from the
/// first `counts` (i32 [R]; less than 1 as 1, more than k as k). settings [R, 5]: of each row its DrawSettings. In f32,
/// so near a border another one than on the host. Not differentiable. Throws Error where the shapes disagree or k is
/// above most_top_k.
Value draw(Graph& graph, Value values, Value indices, Value settings, Value counts);

}  // namespace vkformer
