#pragma once
// Hugging Face's safetensors format: a length, a JSON header, then every tensor's bytes one after the other.
// Format: https://github.com/huggingface/safetensors

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/mapped_file.h"

namespace vkformer {

/// Element types a file may hold; more than the runtime computes with (see DType).
enum class FileDType : uint8_t { boolean, u8, i8, f8_e5m2, f8_e4m3, f8_e8m0, i16, u16, f16, bf16, i32, u32, f32, f64, i64, u64 };
/// The name in the header: "F32".
std::string_view name_of(FileDType);
/// Bytes of one element.
int64_t size_of(FileDType);

/// Bytes of a tensor, or nothing when a dimension is negative or the number is above 2^63 - 1.
std::optional<uint64_t> tensor_bytes(FileDType, std::span<const int64_t> shape);

/// One tensor of a file.
struct TensorEntry {
  std::string name;
  FileDType dtype = FileDType::f32;
  std::vector<int64_t> shape;        ///< no dimension for a scalar
  std::span<const std::byte> bytes;  ///< in the file; need not be aligned to the element's size

  int64_t elements() const { return static_cast<int64_t>(bytes.size()) / size_of(dtype); }
};

/// A safetensors file opened for reading. Everything the header says is checked first, more strictly than the format's
/// own library: header length, JSON, duplicate names, element types, shapes, and that the tensors fill the file
/// exactly, without holes and overlaps. Nothing is copied until it is read.
class SafetensorsFile {
 public:
  /// Maps the file. Throws Error.
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// Looks at bytes that the caller keeps alive and that need no alignment. Throws Error; `name` is what it calls them.
  SafetensorsFile(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return bytes_; }  ///< the whole file
  /// In the order of their bytes in the file.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  /// nullptr when there is no such tensor.
  const TensorEntry* find(std::string_view tensor) const;
  /// Throws Error when there is no such tensor.
  const TensorEntry& require(std::string_view tensor) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// Converts an F32, F16 or BF16 tensor; every value is exact. Throws Error on another type, or when `out` has not as
  /// many elements.
  void read_floats(const TensorEntry& entry, std::span<float> out) const;
  /// The same for as many elements as `out` has, from element `first` on. They must be in the tensor.
  void read_floats(const TensorEntry& entry, int64_t first, std::span<float> out) const;
  /// Lets go of the memory that reading these elements took; they can be read again.
  void release(const TensorEntry& entry, int64_t first, int64_t count) const;
  /// Reads an I32 or I64 tensor. Throws Error like read_floats, and on a value outside int32.
  void read_ints(const TensorEntry& entry, std::span<int32_t> out) const;

 private:
  void parse(std::span<const std::byte> bytes);

  std::optional<MappedFile> file_;
  std::string name_;
  std::span<const std::byte> bytes_;
  std::vector<TensorEntry> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor to write. `data` is called once, when its turn comes, and what it returns must stay valid until the next
/// call: so one staging buffer can serve a whole model.
struct TensorSource {
  std::string name;
  FileDType dtype = FileDType::f32;
  std::vector<int64_t> shape;
  std::function<std::span<const std::byte>()> data;

  /// Tensors whose values lie in memory that the caller keeps alive.
  static TensorSource of(std::string name, std::vector<int64_t> shape, std::span<const float> values);
  static TensorSource of(std::string name, std::vector<int64_t> shape, std::span<const int32_t> values);
  static TensorSource of(std::string name, std::vector<int64_t> shape, std::span<const int64_t> values);
};

/// Writes a file atomically (see AtomicFile). Equal inputs give equal bytes. Tensors keep their order, except that
/// wider elements come first so that every tensor is aligned. transformers wants {"format", "pt"} in the metadata.
/// Throws Error, before touching the disk when names or shapes are wrong.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorSource> tensors,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace vkformer
