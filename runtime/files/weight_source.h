#pragma once
// Tensors of a model by name, wherever they lie: in safetensors or in a GGUF file.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor.h"

namespace vkformer {

/// One tensor, in the file's order of values or in another that it is read in.
class WeightTensor {
 public:
  virtual ~WeightTensor() = default;
  WeightTensor(const WeightTensor&) = delete;
  WeightTensor& operator=(const WeightTensor&) = delete;

  const std::string& name() const { return name_; }
  std::span<const int64_t> shape() const { return shape_; }
  int64_t elements() const { return elements_; }
  /// What the file's format calls its type: "BF16".
  std::string_view type() const { return type_; }
  /// In the file.
  uint64_t bytes() const { return bytes_; }
  /// Its place among the source's tensors.
  size_t index() const { return index_; }

  /// Whether its values can be read as floats.
  virtual bool is_float() const = 0;
  /// As many elements as `out` has, from element `first` on, row by row. They must be in the tensor.
  virtual void read_floats(int64_t first, std::span<float> out) const = 0;
  /// Columns of a matrix from column `first` on, one after the other.
  virtual void read_columns(int64_t first, std::span<float> out) const;
  /// The type of its rows in the file, or with `columns` of those of the transposed matrix; nothing where they can't be
  /// read as they are.
  virtual std::optional<DType> stored(bool columns) const = 0;
  /// Such elements from element `first` on, bit for bit, whole blocks. They must be in the tensor.
  virtual void read_stored(int64_t first, std::span<std::byte> out) const = 0;
  /// Lets go of the memory that reading these elements took; they can be read again.
  virtual void release(int64_t first, int64_t count) const = 0;

 protected:
  WeightTensor(std::string name, std::vector<int64_t> shape, int64_t elements, std::string_view type, uint64_t bytes);

 private:
  friend class WeightSource;
  std::string name_;
  std::vector<int64_t> shape_;
  int64_t elements_;
  std::string_view type_;
  uint64_t bytes_;
  size_t index_ = 0;
};

/// All tensors of a model.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  WeightSource(const WeightSource&) = delete;
  WeightSource& operator=(const WeightSource&) = delete;

  /// What errors call the whole: the path of the one file, of the index, or of the first shard.
  virtual const std::string& name() const = 0;
  virtual size_t file_count() const = 0;
  /// Of all files.
  virtual uint64_t bytes() const = 0;
  /// In the order of the files and of their bytes.
  const std::vector<std::unique_ptr<const WeightTensor>>& tensors() const { return tensors_; }
  /// nullptr when there is no such tensor.
  const WeightTensor* find(std::string_view tensor) const;

 protected:
  WeightSource() = default;
  void add(std::unique_ptr<WeightTensor> tensor);

 private:
  std::vector<std::unique_ptr<const WeightTensor>> tensors_;
  std::map<std::string_view, const WeightTensor*> by_name_;
};

}  // namespace vkformer
