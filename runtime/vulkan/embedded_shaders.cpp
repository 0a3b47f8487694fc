#include "runtime/vulkan/embedded_shaders.h"

#include <fmt/core.h>

#include <map>

#include "runtime/hash.h"
#include "runtime/kernels.h"

namespace vkformer {

namespace {

/// Ids ("constant_id") of a module's boolean specialization constants. Encodings: SPIR-V specification 2.3, 3.3.
std::vector<uint32_t> boolean_constants(std::span<const uint32_t> words) {
  constexpr uint32_t header = 5, op_constant_true = 48, op_constant_false = 49, op_decorate = 71, spec_id = 1;
  std::map<uint32_t, uint32_t> ids;  // by what they decorate; decorations come before constants
  std::vector<uint32_t> found;
  for (size_t at = header; at < words.size(); at += words[at] >> 16) {
    const uint32_t op = words[at] & 0xffff;
    if (op == op_decorate && words[at + 2] == spec_id) ids[words[at + 1]] = words[at + 3];
    if (op != op_constant_true && op != op_constant_false) continue;
    if (const auto id = ids.find(words[at + 2]); id != ids.end()) found.push_back(id->second);
  }
  return found;
}

}  // namespace

std::vector<KernelVariant> kernel_variants() {
  std::vector<KernelVariant> variants;
  for (const EmbeddedShader& shader : embedded_shaders())
    variants.push_back({shader.kernel, shader.variant, !shader.words.empty(), boolean_constants(shader.words)});
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
