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
/// That of the target side, where it cuts texts in another way (our own name: Marian's files in transformers are other
/// ones).
inline constexpr const char* target_tokenizer_file = "target_tokenizer.json";

/// Whether a path names a GGUF file (.gguf, in capitals or not); it need not be there.
bool is_gguf(const std::filesystem::path& path);

/// Whether the model has this file: "config.json", "tokenizer.json", "generation_config.json" ... A tokenizer.json that
/// is missing counts where one can be made of older files (see models/text/older_tokenizer.h).
bool has_model_json(const std::filesystem::path& model, std::string_view file);
/// The content of that file, or what a GGUF file or older files say in its place. Throws Error when it is not there or
/// can't be read.
JsonObject load_model_json(const std::filesystem::path& model, std::string_view file);

/// The tensors of a folder, of one safetensors file (see WeightFiles, and TorchWeights for folders without those) or of
/// a GGUF file, by Hugging Face's names; of a quantised folder those of the original model. Throws Error.
std::unique_ptr<const WeightSource> open_weights(const std::filesystem::path& model);

}  // namespace vkformer
