#pragma once
// The tensors of a Hugging Face folder, in one safetensors file or in shards:
//
//   model.safetensors                       everything, or
//   model.safetensors.index.json            a WeightIndex
//   model-00001-of-00002.safetensors ...    the shards it names

#include <filesystem>
#include <list>

#include "runtime/files/safetensors.h"
#include "runtime/files/weight_source.h"

namespace vkformer {

/// A folder's safetensors files opened for reading; they are mapped, nothing is copied.
class WeightFiles : public WeightSource {
 public:
  /// `path`: a folder (model.safetensors counts before an index, as for transformers), or one safetensors file. Throws
  /// Error when a file is missing or damaged, when the index names a file outside the folder or a tensor that its
  /// shard lacks, and when two shards have one tensor.
  explicit WeightFiles(const std::filesystem::path& path);

  const std::string& name() const override { return name_; }
  const std::list<SafetensorsFile>& files() const { return files_; }
  size_t file_count() const override { return files_.size(); }
  uint64_t bytes() const override;

 private:
  void open_shards(const std::filesystem::path& path);
  void add_tensors(const SafetensorsFile& file);

  std::string name_;
  std::list<SafetensorsFile> files_;
};

}  // namespace vkformer
