#include "models/images/patches.h"

#include <algorithm>

#include "runtime/check.h"

namespace vkformer {

std::vector<float> patches_of(std::span<const float> pixels, const PictureShape& shape) {
  check(std::ssize(pixels) == shape.channels * shape.height * shape.width,
        "a picture has {} values, the model takes {} x {} x {}", pixels.size(), shape.channels, shape.height,
        shape.width);
  std::vector<float> rows(static_cast<size_t>(shape.positions() * shape.columns()));
  auto next = rows.begin() + shape.front * shape.columns();
  for (int64_t top = 0; top + shape.patch <= shape.height; top += shape.patch)
    for (int64_t left = 0; left + shape.patch <= shape.width; left += shape.patch)
      for (int64_t channel = 0; channel < shape.channels; ++channel)
        for (int64_t y = top; y < top + shape.patch; ++y)
          next = std::copy_n(pixels.begin() + (channel * shape.height + y) * shape.width + left, shape.patch, next);
  return rows;
}

}  // namespace vkformer
