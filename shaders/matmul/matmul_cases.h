#pragma once
// Conformance cases of matmul.

#include "runtime/op.h"

namespace vkformer {

std::vector<Case> matmul_cases();

}  // namespace vkformer
