#pragma once
// What a SPIR-V module asks of a workgroup, once its specialization constants are known.

#include <cstdint>
#include <span>

namespace vkformer {

struct ModuleNeeds {
  uint64_t invocations = 1;   ///< of a workgroup
  uint64_t shared_bytes = 0;  ///< of all variables of a workgroup, used or not, as Vulkan counts them
  bool matrix_cores = false;  ///< it multiplies on them
};

/// `constants`: the values of the specialization constants 0, 1, ...; later ones keep their defaults. Throws Error
/// where a size follows from something that is no constant of whole numbers.
ModuleNeeds needs_of(std::span<const uint32_t> words, std::span<const uint32_t> constants);

}  // namespace vkformer
