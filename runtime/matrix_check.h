#pragma once
// Whether a device's matrix cores compute what they should: drivers are known that offer what they get wrong.

#include "runtime/backend.h"

namespace vkformer {

/// Whether no candidate of its kind is used where this one is wrong: those with the smallest blocks.
inline bool stands_for_all(std::string_view kernel) {
  return kernel == "matrix64" || kernel == "matrix_workgroup128x64_4";
}

/// Computes small products of 16-bit operands of this type by a matmul candidate for matrix cores, in each layout, with
/// and without vectors, rounded and not, and compares them with the reference: all of that in every combination that
/// has code of its own where the candidate stands for all, else in three products. By the kernel "attention" or
/// "experts", the conformance cases of those for matrix cores. What is wrong, in one line; empty: nothing. Throws Error
/// when the device is lost.
std::string matrix_cores_fault(Backend& backend, DType type, std::string_view kernel);

}  // namespace vkformer
