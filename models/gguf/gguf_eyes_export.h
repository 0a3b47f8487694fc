#pragma once
// The eyes of a model as a GGUF file of their own (llama.cpp's "mmproj").

#include "models/gguf/gguf_export.h"
#include "models/images/image_processor.h"

namespace vkformer {

struct EyesToWrite {
  const Model& eyes;              ///< with its settled config, see Eyes
  const ImageSettings& pictures;  ///< how they are prepared
  int64_t text_width = 0;         ///< columns of the part that writes
  std::string name;               ///< the model's, for general.name
  /// The embedding of the token behind a row of positions, which files of Pixtral's eyes have, too; empty: of others.
  std::vector<float> row_end = {};
};

/// `dtype`: f32, f16, bf16 or q8_0, of matrices. Throws Error for what the format can't say, before anything is
/// written.
TypeFallbacks write_eyes_as_gguf(const std::filesystem::path& file, const EyesToWrite& what, const Weights& weights,
                                 DType dtype, const LoadProgress& progress = {});

}  // namespace vkformer
