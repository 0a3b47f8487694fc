#pragma once
// Pictures at another size, to the bit as PIL makes them.

#include <cstdint>

#include "models/images/image.h"

namespace vkformer {

/// PIL's filters, by its numbers ("resample" in files of settings).
enum class Resample : int { nearest = 0, lanczos = 1, bilinear = 2, bicubic = 3, box = 4, hamming = 5 };

/// A picture of width x height pixels, each more than 0. All filters but the nearest pixel are as wide as a pixel of
/// the smaller picture, so nothing flickers: first along rows, then along columns, with weights of 22 bits and a result
/// of 8 bits after each.
Image resize(const Image& image, int64_t width, int64_t height, Resample filter);

}  // namespace vkformer
