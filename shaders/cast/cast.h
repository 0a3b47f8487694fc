#pragma once
// Between f32 and the 16-bit floats, and from encoded blocks to these.

#include "runtime/op.h"

namespace vkformer {

/// x in another type: f32 to f16 or bf16 (rounded to nearest), one of those to f32 (exact), or blocks to f16 or bf16. x
/// itself when it has that type. The gradient of an f32 x is f32, whatever the upstream; that of a 16-bit x is the
/// upstream as it is; blocks have none. Throws "[cast] ..." for integers and between other types.
///
/// `saturated`: what an f16 can't hold becomes the largest one that it can, not infinity (infinity stays), which is for
/// inference; a training must notice.
Value cast(Graph& graph, Value x, DType dtype, bool saturated = false);
bool is_cast(const Node& node);

}  // namespace vkformer
