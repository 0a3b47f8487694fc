#pragma once
// sentence-transformers' Dense: a layer behind the pooling, on the host, for it sees one vector of a text.

#include <filesystem>
#include <span>
#include <vector>

namespace vkformer {

struct DenseLayer {
  int64_t in = 0, out = 0;
  std::vector<float> weight, bias;  ///< [out, in] row by row; [out] or empty
  bool tanh = false;                ///< of the result; false: as it is

  /// Of a folder with config.json and model.safetensors or pytorch_model.bin. Throws Error for an activation that is
  /// neither, and for tensors of other shapes.
  static DenseLayer load(const std::filesystem::path& folder);
  std::vector<float> of(std::span<const float> x) const;
};

}  // namespace vkformer
