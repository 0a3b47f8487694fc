#pragma once
// The eyes of Qwen's models (Qwen2-VL: Wang et al. 2024; Qwen2.5-VL: Bai et al. 2025; Qwen3-VL): a Transformer over all
// patches of a picture of any size, which turns queries and keys by a patch's row and column; `merge` x `merge`
// neighbours become a position of the text.

#include <set>

#include "models/seeing/eyes.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct QwenVision {
  int64_t generation = 2;  ///< 2, 25 (Qwen2.5-VL) or 3, which differ in names, norms and feed-forward layers
  int64_t layers = 32, width = 1280, heads = 16, inner = 5120;
  int64_t patch = 14, frames = 2, merge = 2;
  int64_t out = 3584;  ///< columns of a position, the text's
  Activation activation = Activation::quick_gelu;
  /// Qwen2.5: layers but those of `seeing_all` see windows of so many positions of the text to a side; 0: all see all.
  int64_t window = 0;
  std::set<int64_t> seeing_all = {};
  int64_t table_side = 0;                ///< Qwen3: of the grid of learned positions; 0: there are none
  std::vector<int64_t> told_first = {};  ///< Qwen3: layers whose states are added to the text's first layers

  int64_t unit() const { return merge * merge; }  ///< patches of a position
  int64_t head_width() const { return width / heads; }
  int64_t columns() const { return 3 * frames * patch * patch; }  ///< values of a patch
  /// Patches of one window, or of one position where there are none: a view has `size` of them.
  int64_t patches_of_one() const { return window > 0 ? window * window * unit() : unit(); }

  /// Of config.json. Throws Error naming file and key.
  static QwenVision from_json(const JsonObject& config);
  /// What keys of its vision_config mean.
  nlohmann::json settled() const;
};

/// The inputs of a view: "source" [1, rows, columns()], zeros where a window reaches past the picture; "angles" [rows,
/// head_width()], cosines and sines of each patch; with windows "shown" [1, rows], 0 where there is no patch; with
/// learned positions "neighbours" [rows, 4] of each patch in the table, and "weights" [rows, 1, 4] of these. Windows,
/// positions in them and patches of these go row by row.
View qwen_view(const QwenVision& vision, std::span<const float> pixels, int64_t height, int64_t width);
/// What makes of that the states.
Graph qwen_eyes(const QwenVision& vision, int64_t size);
std::vector<ParameterSpec> qwen_parameters(const QwenVision& vision);

}  // namespace vkformer
