#pragma once
// Rows of logits made whole vectors, or whole blocks.

#include "runtime/graph.h"

namespace vkformer {

/// Products whose rows only losses read get as many columns as make whole vectors: their weight (rows are classes) gets
/// rows of zeros, their bias zeros, and the losses leave the new columns out. The loss and all gradients are the same
/// but for rounding. Rows of 16-bit logits then start at multiples of 16 bytes, and so do those of their gradient, of
/// which the backward products are made; else these load single values. Where it adds next to nothing, the columns make
/// whole blocks of 128: GPT-2's 50257 classes become 50304. To be applied before with_mixed_precision(), where a device
/// loads vectors.
Graph with_whole_rows(const Graph& graph);

}  // namespace vkformer
