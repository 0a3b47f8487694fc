#pragma once
// The types that weights of eyes are stored in.

#include <filesystem>

#include "models/seeing/eyes.h"

namespace vkformer {

/// As store_weights_as() in models/model_folder.h, of eyes that lie in `files`.
void store_eyes_as(Eyes& eyes, const std::filesystem::path& files, const std::string& dtype);

}  // namespace vkformer
