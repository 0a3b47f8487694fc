#pragma once
// Rules that could be gone through for ever.

#include "models/constraint/grammar.h"

namespace vkformer {

/// Rules that come back to each other before a byte has come, with something left to come behind: each time more would
/// be left. Empty where there are none. (With nothing behind nothing is left, which is how repetitions of what may be
/// empty go.)
std::vector<uint32_t> growing_loop(const Grammar& grammar);

}  // namespace vkformer
