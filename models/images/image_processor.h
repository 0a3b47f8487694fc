#pragma once
// A picture as a vision model wants it: what transformers' image processors of ViT, DeiT, CLIP, SigLIP and DINOv2 do,
// those of Idefics 3 and SmolVLM, which cut it into tiles, and those of Qwen's models, which nearly keep its size.

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "models/images/fitted_size.h"
#include "models/images/image.h"
#include "models/images/resize.h"
#include "models/images/tiles.h"

namespace vkformer {

class JsonObject;

/// What a file of settings says.
struct ImageSettings {
  struct Size {
    int64_t height = 0, width = 0;
    bool operator==(const Size&) const = default;
  };
  std::optional<Size> size;              ///< resized to it; not at all without either of these
  std::optional<int64_t> shortest_edge;  ///< or so that its shorter edge has this length
  std::optional<TileSettings> tiles;     ///< or cut into tiles
  std::optional<FitSettings> fit;        ///< or to whole multiples, so that each picture has a size of its own
  Resample resample = Resample::bilinear;
  std::optional<Size> crop;                             ///< this much of its middle, black where it is smaller
  std::optional<double> rescale;                        ///< factor to values of 0 to 255, in double
  std::optional<std::array<float, 3>> mean, deviation;  ///< then less the mean of its channel, by the deviation
  bool operator==(const ImageSettings&) const = default;
};

class ImageProcessor {
 public:
  /// Of a model's folder: preprocessor_config.json, or processor_config.json's "image_processor", which transformers 5
  /// writes. Where it does not say whose it is, config.json's model_type does. Throws Error, naming file and key, for
  /// what is missing or of another kind.
  static ImageProcessor from_folder(const std::filesystem::path& folder);
  /// Of a processor_config.json.
  static ImageProcessor from_json(const JsonObject& processor);
  /// Throws Error, naming `name`, for settings that give pictures of different sizes.
  ImageProcessor(const ImageSettings& settings, const std::string& name);

  int64_t height() const { return out_.height; }  ///< of what pixels() gives; 0: each picture has its own
  int64_t width() const { return out_.width; }
  const ImageSettings& settings() const { return settings_; }

  /// [3, height, width]: the channels one after another. Throws Error for a picture that is not of the wanted size
  /// where nothing is resized or cropped, and for one too long and thin to be resized.
  std::vector<float> pixels(const Image& image) const { return values_of(resized(image)); }
  /// A picture's tiles, each as pixels() gives it; of one without tiles itself.
  struct Views {
    std::vector<std::vector<float>> pixels = {};
    int64_t rows = 0, columns = 0;  ///< see TiledImage
    int64_t height = 0, width = 0;  ///< of each
  };
  Views views(const Image& image) const;

 private:
  Image resized(const Image& image) const;
  std::vector<float> values_of(const Image& whole) const;

  ImageSettings settings_;
  ImageSettings::Size out_;
};

}  // namespace vkformer
