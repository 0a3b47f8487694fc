#ifndef VKFORMER_MATMUL_BLOCK_ARGS_H
#define VKFORMER_MATMUL_BLOCK_ARGS_H
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

/// One launch of matmul_block, on the operands of matmul_panel, over a block of values of k: a and b point at its first.
/// Workgroups: columns, rows, product. Pointers that a launch has no use for are y's or b's; what it loads there is not
/// used.
struct MatmulBlockArgs {
  Floats a;               ///< [batch, M, K], or in panels
  Floats b;               ///< in panels
  Floats y;               ///< [batch, M, N]
  Floats before;          ///< [batch, M, N] to start from: the launch before's y, or the residual
  Floats bias;            ///< [N]
  Floats pre_activation;  ///< [batch, M, N]
  Floats residual;        ///< [batch, M, N], added to what the activation makes
  uint m, n;
  uint a_length, b_length;  ///< values of k in a row, or panel, of a and in a panel of b
  uint row_tiles, panels;  ///< of a product
  float scale;
  uint has_before, has_bias, has_pre_activation;  ///< 1: yes
  uint digits[8];                                 ///< 0 to 7: see uniform_number.glsl
};

VKFORMER_SHARED_END
#endif
