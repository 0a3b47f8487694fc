#pragma once
// The tensors of a folder as PyTorch saved them, in one file or in shards: pytorch_model.bin, or
// pytorch_model.bin.index.json (see WeightIndex) and the files that it names.

#include <filesystem>
#include <list>

#include "runtime/files/torch_file.h"
#include "runtime/files/weight_source.h"

namespace vkformer {

class TorchWeights : public WeightSource {
 public:
  /// Throws Error when a file is missing or damaged, and when two shards have one tensor.
  explicit TorchWeights(const std::filesystem::path& folder);
  /// Whether a folder has such files, and none of those that count before them.
  static bool are_in(const std::filesystem::path& folder);

  const std::string& name() const override { return name_; }
  const std::list<TorchFile>& files() const { return files_; }
  size_t file_count() const override { return files_.size(); }
  uint64_t bytes() const override;

 private:
  void add_tensors(const TorchFile& file);

  std::string name_;
  std::list<TorchFile> files_;
};

}  // namespace vkformer
