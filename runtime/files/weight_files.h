#pragma once
// The tensors of a Hugging Face folder, in one safetensors file or in shards:
//
//   model.safetensors                       everything, or
//   model.safetensors.index.json            {"weight_map": {"tensor": "model-00001-of-00002.safetensors", ...}}
//   model-00001-of-00002.safetensors ...    the shards it names

#include <list>

#include "runtime/files/safetensors.h"

namespace vkformer {

/// A folder's safetensors files opened for reading; they are mapped, nothing is copied.
class WeightFiles {
 public:
  struct Tensor {
    const SafetensorsFile* file = nullptr;
    const TensorEntry* entry = nullptr;
  };

  /// `path`: a folder (model.safetensors counts before an index, as for transformers), or one safetensors file. Throws
  /// Error when a file is missing or damaged, when the index names a file outside the folder or a tensor that its
  /// shard lacks, and when two shards have one tensor.
  explicit WeightFiles(const std::filesystem::path& path);

  /// What errors call the whole: the path of the one file or of the index.
  const std::string& name() const { return name_; }
  const std::list<SafetensorsFile>& files() const { return files_; }
  /// In the order of the files and of their bytes.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// nullptr when there is no such tensor.
  const Tensor* find(std::string_view tensor) const;
  /// Of all files.
  uint64_t bytes() const;

 private:
  void open_shards(const std::filesystem::path& index);
  void add_tensors(const SafetensorsFile& file);

  std::string name_;
  std::list<SafetensorsFile> files_;
  std::vector<Tensor> tensors_;
  std::map<std::string_view, size_t> index_;
};

}  // namespace vkformer
