#pragma once
// Where a model lies: in a Hugging Face folder, or in one GGUF file, whose metadata then stand for the folder's JSON
// files and whose tensors for its safetensors.

#include <filesystem>
#include <memory>

#include "runtime/files/json_file.h"
#include "runtime/files/weight_source.h"

namespace vkformer {

/// How text is generated, unless somebody says otherwise: beside a config.json.
inline constexpr const char* generation_file = "generation_config.json";

/// The tokenizer; transformers reads others beside it.
inline constexpr const char* tokenizer_file = "tokenizer.json";

/// Whether a path names a GGUF file; it need not be there.
bool is_gguf(const std::filesystem::path& path);

/// Whether the model has this file: "config.json", "tokenizer.json", "generation_config.json" ...
bool has_model_json(const std::filesystem::path& model, std::string_view file);
/// The content of that file, or what a GGUF file says in its place. Throws Error when it is not there or can't be read.
JsonObject load_model_json(const std::filesystem::path& model, std::string_view file);

/// Throws Error, in a line that says what to do, when a folder has no tokenizer.
void check_tokenizer_file(const std::filesystem::path& folder);

/// The tensors of a folder, of one safetensors file (see WeightFiles) or of a GGUF file, by Hugging Face's names.
/// Throws Error.
std::unique_ptr<const WeightSource> open_weights(const std::filesystem::path& model);

}  // namespace vkformer
