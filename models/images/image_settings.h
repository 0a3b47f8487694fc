#pragma once
// Settings of transformers' image processors in a model's folder.

#include <filesystem>
#include <string>

#include "models/images/image_processor.h"

namespace vkformer {

/// See ImageProcessor::from_folder(). `name` (optional) gets what errors call the file.
ImageSettings load_image_settings(const std::filesystem::path& folder, std::string* name = nullptr);
/// The same of a processor_config.json, which has "image_processor" with its type.
ImageSettings image_settings_of(const JsonObject& processor);

}  // namespace vkformer
