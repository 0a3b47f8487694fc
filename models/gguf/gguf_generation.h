#pragma once
// How a GGUF file wants its tokens drawn: keys general.sampling.*, which llama.cpp's converter takes from a
// generation_config.json.

#include <nlohmann/json_fwd.hpp>

#include "runtime/files/gguf.h"

namespace vkformer {

bool has_gguf_sampling(const GgufMetadata& metadata);
/// As a generation_config.json says it, without ids. Throws Error, naming the key, for values that can't be.
nlohmann::json gguf_sampling(const GgufMetadata& metadata);
/// The other way; nothing for a generation_config.json that does not draw.
void add_sampling(GgufPairs& pairs, const nlohmann::json& generation);

}  // namespace vkformer
