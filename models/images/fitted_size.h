#pragma once
// Sizes of pictures that models take as they are, but for multiples: what transformers' image processors of Qwen2-VL
// and later ones do, and that of Pixtral.

#include <cstdint>
#include <utility>

namespace vkformer {

struct FitSettings {
  int64_t factor = 28;                             ///< height and width are multiples of it
  int64_t least = 56 * 56, most = 28 * 28 * 1280;  ///< pixels of a picture
  /// Pixtral: pixels of the longer edge at most; then both reach up to multiples, and `least` and `most` mean nothing.
  int64_t longest = 0;
  bool operator==(const FitSettings&) const = default;
};

/// Height and width of a picture as the model takes it: each the nearest multiple (of two the even one), then both
/// smaller or larger by one factor where there are too many pixels or too few. Throws Error for one that is more than
/// 200 times as long as wide.
std::pair<int64_t, int64_t> fitted_size(int64_t height, int64_t width, const FitSettings& settings);

}  // namespace vkformer
