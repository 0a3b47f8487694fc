#pragma once
// Pictures and their classes, as training data of a model that sees.

#include <filesystem>

#include "models/data/kept_floats.h"
#include "models/data/length_data.h"
#include "models/images/image_processor.h"
#include "models/model.h"

namespace vkformer {

struct PictureExamples {
  std::vector<std::filesystem::path> files;
  std::vector<int32_t> classes;
};

class PictureData : public LengthData {
 public:
  struct Settings {
    int64_t rows = 32;  ///< of a batch
    uint32_t seed = 0;
    PictureShape picture;
  };
  /// Batches have "targets" [B]. Throws Error when there is no training example. Files are read when a batch has them.
  PictureData(PictureExamples training, PictureExamples validation, ImageProcessor processor, const Settings& settings);

 private:
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;
  std::vector<float> patches_in(const std::filesystem::path& file) const;

  PictureExamples training_, validation_;
  ImageProcessor processor_;
  PictureShape picture_;
  KeptFloats kept_;
};

}  // namespace vkformer
