#pragma once
// The eyes of a model's folder as a GGUF file of their own (llama.cpp's "mmproj").

#include "models/images/image_processor.h"
#include "models/seeing/eyes.h"
#include "models/type_fallbacks.h"
#include "models/weights.h"

namespace vkformer {

class EyesExport {
 public:
  /// Throws Error for a model without eyes, and like Weights().
  explicit EyesExport(const std::filesystem::path& folder);

  const Model& model() const { return eyes_.model; }
  const Weights& weights() const { return weights_; }

  /// What a file does not have as the folder has it.
  struct Losses {
    TypeFallbacks fallbacks;
    bool pictures = false;  ///< readers of the file prepare them in another way
  };
  /// See write_eyes_as_gguf().
  Losses write(const std::filesystem::path& file, DType dtype, const LoadProgress& progress = {}) const;

 private:
  std::vector<float> row_end() const;

  std::filesystem::path folder_;
  Eyes eyes_;
  Model text_;
  Weights weights_, text_weights_;
  ImageSettings pictures_;
};

}  // namespace vkformer
