#pragma once
// Pictures that tests/huggingface/make_images.py recorded.

#include <filesystem>
#include <string>

#include "models/images/image.h"
#include "runtime/files/safetensors.h"

namespace vkformer::testing {

inline const SafetensorsFile& recorded_images() {
  static const SafetensorsFile file(std::filesystem::path(VKFORMER_FIXTURES) / "images.safetensors");
  return file;
}

/// A tensor of bytes.
inline std::string recorded_bytes(const std::string& name) {
  const TensorEntry& entry = recorded_images().require(name);
  return {reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()};
}

/// A tensor [height, width, 3] of them.
inline Image recorded_image(const std::string& name) {
  const TensorEntry& entry = recorded_images().require(name);
  const std::string bytes = recorded_bytes(name);
  return {entry.shape.at(1), entry.shape.at(0), {bytes.begin(), bytes.end()}};
}

}  // namespace vkformer::testing
