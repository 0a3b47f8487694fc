#pragma once
// Whether a device's matrix cores compute what they should: drivers are known that offer what they get wrong.

#include "runtime/backend.h"

namespace vkformer {

/// Computes small products of 16-bit operands of this type by a matmul kernel for matrix cores, in each layout, with
/// and without vectors, and compares them with the reference. What is wrong, in one line; empty: nothing. Not to be
/// asked of a device on which that kernel is not legal.
std::string matrix_cores_fault(Backend& backend, DType type, std::string_view kernel);

}  // namespace vkformer
