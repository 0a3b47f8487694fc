#pragma once
// The settings of a model in a GGUF file and in a config.json.

#include <nlohmann/json_fwd.hpp>

#include "runtime/files/gguf.h"

namespace vkformer {

struct GgufArchitecture;

/// What Hugging Face's config.json of the model would say. Throws Error, naming file and key, for what can't be said
/// there or is not supported.
nlohmann::json gguf_config(const GgufShards& shards);

/// The other way: appends the settings of a model's config. Throws Error for what the format can't say.
void add_config(GgufPairs& pairs, const GgufArchitecture& architecture, const nlohmann::json& config);

/// The divisors of rotary frequencies that stand in "rope_freqs.weight" for a config; empty: none.
std::vector<float> rotary_divisors(const nlohmann::json& config);

}  // namespace vkformer
