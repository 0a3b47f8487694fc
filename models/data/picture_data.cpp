#include "models/data/picture_data.h"

#include <algorithm>

#include "models/images/image_file.h"
#include "models/images/patches.h"

namespace vkformer {

namespace {

std::vector<ExampleLength> lengths_of(const PictureExamples& examples, const PictureShape& picture) {
  return std::vector<ExampleLength>(examples.files.size(), {.source = 0, .target = picture.positions()});
}

}  // namespace

PictureData::PictureData(PictureExamples training, PictureExamples validation, ImageProcessor processor,
                         const Settings& settings)
    : training_(std::move(training)),
      validation_(std::move(validation)),
      processor_(std::move(processor)),
      picture_(settings.picture) {
  arrange(lengths_of(training_, picture_), lengths_of(validation_, picture_),
          {.positions = settings.rows * picture_.positions(), .most_rows = settings.rows, .seed = settings.seed});
}

BatchShape PictureData::shape_of(const LengthBatches::Bucket& bucket) const {
  return {.rows = bucket.rows, .positions = picture_.positions()};
}

std::vector<float> PictureData::patches_in(const std::filesystem::path& file) const {
  return kept_.of(file, [&] { return patches_of(processor_.pixels(read_image(file)), picture_); });
}

DataBatch PictureData::assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                                int64_t) const {
  const PictureExamples& from = split == Split::training ? training_ : validation_;
  const auto each = static_cast<size_t>(picture_.positions() * picture_.columns());
  std::vector<int32_t> targets(static_cast<size_t>(shape.rows), ignored_target);
  std::vector<float> pixels(static_cast<size_t>(shape.rows) * each);
  DataBatch batch{.shape = shape};
  for (size_t row = 0; row < examples.size(); ++row) {
    targets[row] = from.classes[examples[row]];
    std::ranges::copy(patches_in(from.files[examples[row]]), pixels.begin() + static_cast<std::ptrdiff_t>(row * each));
    batch.tokens += picture_.positions();
  }
  batch.inputs = {{"targets", std::move(targets)}};
  batch.floats = {{"source", std::move(pixels)}};
  return batch;
}

}  // namespace vkformer
