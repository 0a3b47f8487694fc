#pragma once
// PyTorch's files of weights, pytorch_model.bin: a zip archive with a pickled state dict (data.pkl) and a file for each
// storage that its tensors lie in; or, before PyTorch 1.6, the pickle and the storages one after the other.

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/files/mapped_file.h"
#include "runtime/files/safetensors.h"

namespace vkformer {

/// One tensor of a file. Several may lie in the same bytes, such as tied ones.
struct TorchTensor {
  std::string name;
  FileDType dtype = FileDType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;      ///< in elements; empty: row by row, without gaps
  std::span<const std::byte> bytes;  ///< from its first element to its last

  int64_t elements() const;
};

/// A file of torch.save, opened for reading. It is mapped, nothing is copied until it is read, and
/// nothing that its pickle says is run (see read_state_dict). Every tensor is checked to lie in its storage.
class TorchFile {
 public:
  /// Throws Error.
  explicit TorchFile(const std::filesystem::path& path);
  /// Looks at bytes that the caller keeps alive. Throws Error; `name` is what it calls them.
  TorchFile(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return bytes_; }  ///< the whole file
  /// In the order of the state dict.
  const std::vector<TorchTensor>& tensors() const { return tensors_; }

  /// As many elements as `out` has room for, from element `first` on, row by row, bit for bit. They must be in the
  /// tensor.
  void read(const TorchTensor& tensor, int64_t first, std::span<std::byte> out) const;
  /// Lets go of the memory that reading these elements took; they can be read again.
  void release(const TorchTensor& tensor, int64_t first, int64_t count) const;

 private:
  void parse();

  std::optional<MappedFile> file_;
  std::string name_;
  std::span<const std::byte> bytes_;
  std::vector<TorchTensor> tensors_;
};

}  // namespace vkformer
