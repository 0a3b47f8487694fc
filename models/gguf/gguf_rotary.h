#pragma once
// Rotary positions of GGUF files; internal to this folder.

#include "models/gguf/gguf_settings.h"

namespace vkformer {

/// Says in a config.json what the file does of the angles by which `width` columns of each head turn. Throws Error,
/// naming file and key, for what is not supported.
void read_gguf_rotary(const GgufSettings& settings, nlohmann::json& config, int64_t width);

/// The values of a vector of that many, which must be F32.
std::vector<float> gguf_floats(const GgufSettings& settings, std::string_view tensor, int64_t count);

}  // namespace vkformer
