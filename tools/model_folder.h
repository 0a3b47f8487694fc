#pragma once
// A model on the command line: a Hugging Face folder, or a run folder (then its latest checkpoint).

#include <filesystem>

#include "models/model.h"

namespace vkformer {

/// The folder that holds config.json. Throws Error when there is none.
std::filesystem::path resolve_model_folder(const std::filesystem::path& given);

}  // namespace vkformer
