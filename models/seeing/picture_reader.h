#pragma once
// Pictures through a model's eyes.

#include <filesystem>

#include "models/images/image_processor.h"
#include "models/seeing/eyes.h"
#include "models/weights.h"

namespace vkformer {

class PictureReader {
 public:
  /// `backend` must outlive it; `folder` has the weights, which are loaded when the first picture is read, as
  /// store_weights_as() has made the model. Throws Error like Weights(), and where the processor gives pictures of
  /// another size than the eyes take.
  PictureReader(Backend& backend, Eyes eyes, const ImageProcessor& processor, const std::filesystem::path& folder);

  const Eyes& eyes() const { return eyes_; }
  const Weights& weights() const { return weights_; }
  /// A picture as read() takes it; from any thread.
  std::vector<float> prepared(const Image& image) const;
  /// What stands for it in a text: [positions, C].
  std::vector<float> read(std::span<const float> prepared);

 private:
  Program& program();

  Backend& backend_;
  Eyes eyes_;
  ImageProcessor processor_;
  Weights weights_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Program> program_;
};

}  // namespace vkformer
