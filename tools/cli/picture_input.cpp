#include "tools/cli/picture_input.h"

#include <algorithm>

#include "models/images/image_file.h"
#include "models/images/patches.h"
#include "runtime/check.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/output.h"

namespace vkformer {

ImageProcessor picture_processor(const Model& model, const std::filesystem::path& folder, const std::string& given) {
  check(model.sees(), "{} is a {} model, which reads text; give lines on standard input instead of pictures", given,
        model.family);
  ImageProcessor processor = ImageProcessor::from_folder(folder);
  const PictureShape& picture = model.picture;
  check(processor.height() == picture.height && processor.width() == picture.width,
        "{}: its preprocessor_config.json makes pictures of {} x {}, its config.json takes {} x {}", given,
        processor.height(), processor.width(), picture.height, picture.width);
  return processor;
}

void check_reads_lines(const Model& model, const std::string& given, const char* verb, bool reads) {
  if (reads) return;
  throw UsageError(fmt::format("{} is a {} model, which sees pictures; name their files: {} MODEL cat.jpg", given,
                               model.family, verb));
}

void see_files(PictureLogits& logits, const Model& model, const ImageProcessor& processor,
               const std::vector<std::string>& files, int64_t positions, TextsProgress& progress,
               const std::function<void(size_t file, std::vector<float> row)>& take) {
  catch_end_signals();
  progress.expect(std::ssize(files));
  const auto most = static_cast<size_t>(std::max<int64_t>(positions / model.picture.positions(), 1));
  for (size_t first = 0; first < files.size(); first += most) {
    std::vector<std::vector<float>> batch;
    for (size_t i = first; i < std::min(first + most, files.size()); ++i) {
      check_no_end_asked(fmt::format("seen: {} of {}", first, counted(std::ssize(files), "picture")).c_str());
      batch.push_back(patches_of(processor.pixels(read_image(files[i])), model.picture));
    }
    auto rows = logits.of(batch);
    progress.add(batch.size());
    for (size_t i = 0; i < rows.size(); ++i) take(first + i, std::move(rows[i]));
    check_output();
  }
  progress.clear();
}

}  // namespace vkformer
