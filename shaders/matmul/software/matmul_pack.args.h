#ifndef VKFORMER_MATMUL_PACK_ARGS_H
#define VKFORMER_MATMUL_PACK_ARGS_H
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

/// Columns that a subgroup copies.
const uint MATMUL_PACK_COLUMNS = 64;

/// One launch of matmul_pack. Workgroups: values of k, columns, product.
struct MatmulPackArgs {
  Floats source;  ///< [batch, K, width], or [batch, width, K] when transposed; of the variant's type
  Floats target;  ///< [batch, panels, depth, columns of a panel]
  uint k, width;
  uint panels;      ///< of a product
  uint depth;       ///< of a panel: at least K
  uint last_block;  ///< where in a panel its last block starts
  uint digits[8];  ///< 0 to 7: see uniform_number.glsl
};

VKFORMER_SHARED_END
#endif
