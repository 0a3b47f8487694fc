#pragma once
// The eyes of a model, wherever they lie.

#include <filesystem>

#include "models/images/image_processor.h"
#include "models/seeing/eyes.h"
#include "models/text/prompt_text.h"

namespace vkformer {

struct EyeFiles {
  Eyes eyes;
  ImageProcessor processor;
  std::filesystem::path weights;
  /// The token of a picture's positions, where the vocabulary has none that is written so; then the eyes'
  /// means nothing.
  std::string unspelled = {};
};

/// Of a model's folder; or of a GGUF file, whose eyes are another one, `mmproj`. `vocabulary`: ids below it have
/// embeddings. Throws Error for a GGUF file without the other, for a folder with it, like make_eyes(), and for what
/// can't be read.
EyeFiles eye_files(const std::filesystem::path& model, const std::filesystem::path& mmproj, const PromptText& tokenizer,
                   int64_t vocabulary);

}  // namespace vkformer
