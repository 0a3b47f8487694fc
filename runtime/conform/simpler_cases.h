#pragma once
// What a failing case can be made of in smaller ways.

#include "runtime/op.h"

namespace vkformer {

/// Cases that are simpler than `c` in one thing each, the simplest first: without an optional input, with a dimension
/// of one, half or one less wherever it occurs, with an attribute of zero. Not all of them are possible.
std::vector<Case> simpler_cases(const Case& c);

}  // namespace vkformer
