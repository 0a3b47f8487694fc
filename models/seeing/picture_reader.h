#pragma once
// Pictures through a model's eyes.

#include <filesystem>

#include "models/images/image_processor.h"
#include "models/seeing/eyes.h"
#include "models/weights.h"

namespace vkformer {

/// A picture as the eyes take it.
struct PreparedPicture {
  std::vector<View> views;
  int64_t positions = 0;          ///< that all take in a text
  int64_t rows = 1, columns = 0;  ///< of these, where the model counts them so
  std::string text;               ///< what stands in a text for it
};

class PictureReader {
 public:
  /// `backend` must outlive it; `folder` has the weights, which are loaded when the first picture is read, as
  /// store_weights_as() has made the model. Throws Error like Weights(), and where the processor gives pictures of
  /// another size than the eyes take.
  /// `position`: the token that stands for a position of a picture, as text.
  PictureReader(Backend& backend, Eyes eyes, const ImageProcessor& processor, std::string position,
                const std::filesystem::path& folder);

  const Eyes& eyes() const { return eyes_; }
  const Weights& weights() const { return weights_; }
  /// From any thread. Throws Error like ImageProcessor::views().
  PreparedPicture prepared(const Image& image) const;
  /// What stands for it in a text: [positions, C], or as many times C as AnySize::parts says.
  std::vector<float> read(const PreparedPicture& picture);

 private:
  Program& program(int64_t size);

  Backend& backend_;
  Eyes eyes_;
  ImageProcessor processor_;
  std::string position_;
  Weights weights_;
  std::shared_ptr<Store> store_;
  bool loaded_ = false;
  std::unique_ptr<Program> program_;
  int64_t size_ = 0;  ///< of its views
};

}  // namespace vkformer
