#pragma once
// The index of weights in several files, model.safetensors.index.json and its like:
//
//   {"weight_map": {"tensor": "model-00001-of-00002.safetensors", ...}}

#include <filesystem>
#include <map>
#include <string>

namespace vkformer {

class WeightIndex {
 public:
  /// Throws Error when it can't be read, names no file, a file outside its folder, or one that is missing.
  explicit WeightIndex(const std::filesystem::path& path);

  const std::string& name() const { return name_; }
  /// Paths of the files it names, in the order of their names.
  const std::map<std::string, std::filesystem::path>& files() const { return files_; }
  /// The name of a tensor's file by that of the tensor.
  const std::map<std::string, std::string>& tensors() const { return tensors_; }
  /// Throws Error: the tensor is not in the file that the index says.
  [[noreturn]] void fail_without(const std::string& tensor) const;

 private:
  std::string name_;
  std::map<std::string, std::filesystem::path> files_;
  std::map<std::string, std::string> tensors_;
};

}  // namespace vkformer
