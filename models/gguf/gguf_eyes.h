#pragma once
// The settings of a model that sees of which GGUF files have the part that writes and the eyes apart (llama.cpp's
// "mmproj").

#include <nlohmann/json_fwd.hpp>

#include "runtime/files/gguf.h"

namespace vkformer {

/// The token that stands for a position of a picture in a text, where the text's vocabulary has it.
std::string_view gguf_eyes_token(const GgufShards& eyes);

/// What Hugging Face's config.json of the whole would say. `text`: of the part that writes, see gguf_config(); `token`:
/// the id of gguf_eyes_token(). Throws Error for a file without eyes, for those of a kind that is not supported, and
/// for those of other models.
nlohmann::json gguf_eyes_config(const GgufShards& eyes, const nlohmann::json& text, int32_t token);

/// What its processor_config.json would say of pictures. Files have mean and deviation; sizes that transformers'
/// processors have beside them are those that llama.cpp takes.
nlohmann::json gguf_eyes_processor(const GgufShards& eyes);

}  // namespace vkformer
