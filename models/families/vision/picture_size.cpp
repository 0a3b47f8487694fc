#include <nlohmann/json.hpp>

#include "models/families/vision/vision.h"
#include "models/images/image_processor.h"

namespace vkformer {

void settle_picture_size(nlohmann::json& config, const std::filesystem::path& model) {
  const auto holds = [&](const char* file) { return std::filesystem::exists(model / file); };
  if (!holds("preprocessor_config.json") && !holds("processor_config.json")) return;
  const ImageProcessor processor = ImageProcessor::from_folder(model);
  config[picture_size_key] = {processor.height(), processor.width()};
}

}  // namespace vkformer
