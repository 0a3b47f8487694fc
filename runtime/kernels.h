#pragma once
// The kernels of this build, whatever the device.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// A kernel's shader in one of its variants.
struct KernelVariant {
  std::string_view kernel, variant;
  bool built = false;                ///< false: the glslang of this build could not compile it
  std::vector<uint32_t> flags = {};  ///< ids of its specialization constants that are booleans
};

std::vector<KernelVariant> kernel_variants();
/// Of the names and the code of all of them: measured times belong to these kernels.
const std::string& kernels_fingerprint();

}  // namespace vkformer
