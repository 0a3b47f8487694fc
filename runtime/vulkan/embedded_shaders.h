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
/// Whether shaders that need `feature` are part of this build (see cmake/shaders.cmake).
bool built_with(std::string_view feature);

}  // namespace vkformer
