#pragma once
// Rotary position embedding (Su et al. 2021, "RoFormer").

#include "runtime/graph.h"

namespace vkformer {

struct RopeOptions {
  int64_t heads = 1;
  int64_t head_width = 0;
  int64_t rotary_width = 0;  ///< first columns of each head that turn: even, at most head_width
  /// false: the pairs are columns (i, i + rotary_width / 2), as in Hugging Face's LLaMA and GPT-NeoX; true: (2i, 2i +
  /// 1), as in GPT-J.
  bool interleaved = false;
  int64_t column = 0;  ///< first column of head 0 in x
  /// i32 [1] or [B], of the first row (of each sequence), or [B, T] of each row; absent: 0
  Value position = {};
};

/// Turns each pair (x1, x2) of each head by the angle of its row's position: y1 = x1 cos - x2 sin, y2 = x2 cos + x1
/// sin. All other columns are copied. x [B, T, columns] has head h from column + h * head_width on, of the last one at
/// least what turns; y like x: f32, or f16 or bf16 where columns, column, head_width and rotary_width / 2 are even. Throws Error when the
/// shapes or columns disagree.
///
/// table [P, rotary_width] holds for each position first the cosines of its rotary_width / 2 angles, then their sines:
/// the host computes them in double, so every scaling of frequencies is data. Row t takes table row position + t. The
/// host keeps positions inside the table; one outside takes the nearest row. The gradient for x is the rotation back;
/// the table is data and gets none.
Value rope(Graph& graph, Value x, Value table, const RopeOptions& options);
bool is_rope(const Node& node);

}  // namespace vkformer
