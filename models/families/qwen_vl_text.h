#pragma once
// The part that writes of Qwen's models that see, which is a Qwen 2 or 3 whose positions may have three numbers.

#include <nlohmann/json_fwd.hpp>

#include "runtime/files/json_file.h"

namespace vkformer {

/// How many of its first layers get something of a picture's earlier layers, where any do: a key of our own, for GGUF
/// files, which say it of the text.
inline constexpr const char* deepstack_key = "deepstack_layers";

/// Whether a config.json is of such a model.
bool is_qwen_vl(const JsonObject& config);
/// Its text_config, or where older files have all of it beside vision_config, that, as a config of the family of its
/// layers: qwen2 or qwen3.
nlohmann::json qwen_vl_text(const JsonObject& config);

}  // namespace vkformer
