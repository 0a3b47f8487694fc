#pragma once
// Windows of a sequence as rows: a convolution over positions is the product of these with its weight.

#include "runtime/graph.h"

namespace vkformer {

/// The windows that a convolution over positions sees.
struct Windows {
  int64_t size = 3;     ///< positions of one
  int64_t stride = 1;   ///< positions from one to the next
  int64_t padding = 1;  ///< positions of zeros before the first one and behind the last
};

/// x [B, T, C] -> [B, (T + 2 padding - size) / stride + 1, C * size], PyTorch's unfold: column c * size + j of row t is
/// column c of position t * stride + j - padding, or 0 where there is none. So a weight of torch.nn.Conv1d, [out, C,
/// size], seen as [out, C * size], makes the convolution of it. f32. Throws Error where no window fits.
Value unfold(Graph& graph, Value x, const Windows& windows);

}  // namespace vkformer
