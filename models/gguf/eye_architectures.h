#pragma once
// What GGUF files of eyes (llama.cpp's "mmproj") call their tensors and settings, and what Hugging Face does: as data.

#include "models/gguf/architectures.h"
#include "runtime/files/gguf.h"

namespace vkformer {

/// general.architecture of such files.
inline constexpr std::string_view architecture_of_eyes = "clip";

/// A kind of eyes. Keys of `data`, whose name they follow, are those of a config.json's vision_config.
struct EyeArchitecture {
  std::string_view projector;     ///< clip.projector_type
  std::string_view vision_model;  ///< model_type of the vision_config, where that tells kinds apart
  GgufArchitecture data;
  GgufArchitecture older;  ///< of files that have both layers of a feed-forward part under each other's name
};

/// Of a file of eyes. Throws Error for other files, and for a kind that is not supported.
const GgufArchitecture& eye_architecture_of(const GgufShards& shards);
/// clip.projector_type; "mlp", that of the first files, where there is none.
std::string_view projector_of(const GgufMetadata& metadata);
/// By config.json's; nullptr: none.
const EyeArchitecture* eye_architecture_of_model(std::string_view model_type, std::string_view vision_model);

}  // namespace vkformer
