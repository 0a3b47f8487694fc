#ifndef VKFORMER_MATMUL_PANEL_ARGS_H
#define VKFORMER_MATMUL_PANEL_ARGS_H
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

/// Rows of tiles that matmul_panel keeps in the second-level cache while b passes by.
const uint MATMUL_PANEL_TILES = 8;
/// Values of k that it takes at a time.
const uint MATMUL_PANEL_STEP = 32;

VKFORMER_SHARED_END
#endif
