#pragma once
// Whether a device's matrix cores compute what they should: drivers are known that offer what they get wrong.

#include "runtime/backend.h"

namespace vkformer {

/// Computes small products of 16-bit operands of this type by a matmul kernel for matrix cores, in each layout, with
/// and without vectors, rounded and not, and compares them with the reference; by the kernel "attention", the
/// conformance cases of those for matrix cores. What is wrong, in one line; empty: nothing. Throws Error when the
/// device is lost.
std::string matrix_cores_fault(Backend& backend, DType type, std::string_view kernel);

}  // namespace vkformer
