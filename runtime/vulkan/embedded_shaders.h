#pragma once
// The SPIR-V that ships inside the binary.

#include <cstdint>
#include <span>
#include <string_view>

namespace vkformer {

struct EmbeddedShader {
  std::string_view kernel;
  std::string_view variant;
  std::span<const uint32_t> words;  ///< empty: the glslang of this build could not compile it
};

std::span<const EmbeddedShader> embedded_shaders();

}  // namespace vkformer
