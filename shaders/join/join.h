#pragma once

#include "runtime/op.h"

namespace vkformer {

/// Byte offsets of tensors laid one after another as in a block of the Store: each starts at a multiple of 16, the
/// alignment that four-wide kernels need.
std::vector<int64_t> join_offsets(const Types& parts);

/// Elements of the joined block, whose end is a multiple of 16 bytes as well.
int64_t join_elements(const Types& parts);

/// One flat f32 block that holds the f32 parts (any shapes) at join_offsets(); the gaps of at most 12 bytes after them
/// are zero. The plan usually computes the parts in place, and then nothing is copied. Not differentiable.
Value join(Graph& graph, const Values& parts);

}  // namespace vkformer
