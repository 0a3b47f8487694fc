#pragma once
// Learned positions of a grid of patches, for a grid of another size.

#include <cstdint>
#include <vector>

namespace vkformer {

/// Weights [front + height * width, front + side * side] of the rows of a table of positions: the rows in front stay,
/// those of the grid are interpolated between the 4 x 4 nearest, past the edges the nearest (bicubic with a = -0.75, as
/// PyTorch's interpolate() has it with a size, align_corners=False and no antialiasing).
std::vector<float> position_weights(int64_t front, int64_t side, int64_t height, int64_t width);

}  // namespace vkformer
