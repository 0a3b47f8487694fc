#pragma once
// Whether a device's matrix cores compute what they should: drivers are known that offer what they get wrong.

#include "runtime/backend.h"

namespace vkformer {

/// Computes a small f16 product on matrix cores in each layout of its operands, and compares it with the reference.
/// Says on stderr what is wrong. Not to be asked of a device without matrix cores.
bool matrix_cores_right(Backend& backend);

}  // namespace vkformer
