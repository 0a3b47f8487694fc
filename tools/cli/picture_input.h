#pragma once
// The pictures that a verb works on, and the model that sees them.

#include <functional>
#include <string>
#include <vector>

#include "models/classification/picture_logits.h"
#include "models/images/image_processor.h"
#include "tools/cli/progress.h"

namespace vkformer {

/// The model's own way to prepare pictures. Throws Error, naming what was `given`, for a model that sees none, and
/// where they would have another size than it takes.
ImageProcessor picture_processor(const Model& model, const std::filesystem::path& folder, const std::string& given);

/// Throws UsageError, saying how pictures are given, unless the verb `reads` lines by the model.
void check_reads_lines(const Model& model, const std::string& given, const char* verb, bool reads);

/// Reads the files in batches of at most `positions` of the model's, and gives what it makes of each, in their order.
/// Throws Error for a file that can't be read, for answers that can't be written, and when a signal came.
void see_files(PictureLogits& logits, const Model& model, const ImageProcessor& processor,
               const std::vector<std::string>& files, int64_t positions, TextsProgress& progress,
               const std::function<void(size_t file, std::vector<float> row)>& take);

}  // namespace vkformer
