#pragma once
// Whether a device's matrix cores compute what they should: drivers are known that offer what they get wrong.

#include "runtime/backend.h"

namespace vkformer {

/// Computes a small f16 product on matrix cores in each layout of its operands, and compares it with the reference.
/// What is wrong, in one line; empty: nothing. Not to be asked of a device without matrix cores.
std::string matrix_cores_fault(Backend& backend);

}  // namespace vkformer
