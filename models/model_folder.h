#pragma once
// Where users say that a model or an adapter lies, and the types that its weights are wanted in.

#include <filesystem>
#include <string>

#include "models/model.h"

namespace vkformer {

/// The folder that holds config.json, or the GGUF file (see models/model_files.h), that `given` means: such a folder
/// or file, a run folder (then its latest checkpoint), one of Hugging Face's cache (as OWNER/NAME or OWNER/NAME:QUANT,
/// too, where nothing else has that name), or one with a single GGUF file beside those of eyes.
/// Throws Error when there is none.
std::filesystem::path resolve_model_folder(const std::filesystem::path& given);
/// The file of the eyes of such a GGUF file `model`: `asked`, or where that is empty and a folder was given, the only
/// one there whose name has "mmproj" in it. Empty: none.
std::filesystem::path resolve_mmproj(const std::string& asked, const std::filesystem::path& given,
                                     const std::filesystem::path& model);
/// The folder of an adapter's files: itself, or a run folder's latest checkpoint.
std::filesystem::path resolve_adapter_folder(const std::filesystem::path& given);

/// The folder of a tokenizer, which may lie alone, in a model's folder, or in a run. Throws Error.
std::filesystem::path resolve_tokenizer_folder(const std::filesystem::path& given);

/// Stores the weights of a model that lies there as `dtype` ("f32", "f16", "q8_0", ..; "": f32, of a .gguf or a
/// quantised folder what it has).
void store_weights_as(Model& model, const std::filesystem::path& files, const std::string& dtype);

}  // namespace vkformer
