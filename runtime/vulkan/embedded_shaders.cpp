#include "runtime/vulkan/embedded_shaders.h"

#include <fmt/core.h>

#include "runtime/hash.h"
#include "runtime/kernels.h"

namespace vkformer {

std::vector<KernelVariant> kernel_variants() {
  std::vector<KernelVariant> variants;
  for (const EmbeddedShader& shader : embedded_shaders())
    variants.push_back({shader.kernel, shader.variant, !shader.words.empty()});
  return variants;
}

const std::string& kernels_fingerprint() {
  static const std::string text = [] {
    uint64_t hash = hash_start;
    for (const EmbeddedShader& shader : embedded_shaders()) {
      hash = hash_text(hash_text(hash, shader.kernel), shader.variant);
      for (uint32_t word : shader.words) hash = hash_step(hash, word);
    }
    return fmt::format("{:016x}", hash);
  }();
  return text;
}

}  // namespace vkformer
