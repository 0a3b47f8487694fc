#pragma once
// How a GGUF file wants its tokens drawn: keys general.sampling.*, which llama.cpp's converter takes from a
// generation_config.json.

#include <nlohmann/json_fwd.hpp>

#include "runtime/files/gguf.h"
#include "runtime/files/json_file.h"

namespace vkformer {

bool has_gguf_sampling(const GgufMetadata& metadata);
/// As a generation_config.json says it, without ids. Throws Error, naming the key, for values that can't be.
nlohmann::json gguf_sampling(const GgufMetadata& metadata);
/// The other way; one that does not draw gets temperature 0.
void add_sampling(GgufPairs& pairs, const JsonObject& generation);

}  // namespace vkformer
