#pragma once
// GGUF, the format of ggml and llama.cpp: metadata as typed pairs, then the tensors, aligned.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/gguf_types.h"
#include "runtime/files/mapped_file.h"

namespace vkformer {

/// How values of tensors lie in a GGUF file: blocks of some values of a row. `id` is the number in the file.
struct GgufTensorType {
  uint32_t id;
  std::string_view name;  ///< "Q4_K"
  int64_t values;         ///< of a block; rows have whole blocks
  int64_t bytes;          ///< of a block
};
/// nullptr for what ggml does not have.
const GgufTensorType* gguf_tensor_type(uint32_t id);
const GgufTensorType* gguf_tensor_type(std::string_view name);

/// One tensor of a file.
struct GgufTensor {
  std::string name;
  const GgufTensorType* type = nullptr;
  std::vector<int64_t> shape;        ///< the last dimension is contiguous: the reverse of the file's order
  std::span<const std::byte> bytes;  ///< in the file
};

/// The metadata of a file. What asks for a value throws Error, naming file and key, when it is absent, of another type
/// or outside what is asked for, or no UTF-8 where it is text; a whole number of any width is an integer, and also a fine number.
class GgufMetadata {
 public:
  bool has(std::string_view key) const { return pairs_.contains(key); }
  int64_t integer(std::string_view key, int64_t min, int64_t max) const;
  double number(std::string_view key, double min, double max) const;
  bool boolean(std::string_view key) const;
  std::string_view text(std::string_view key) const;
  /// Number of values of an array; nothing for what is none.
  std::optional<uint64_t> array_size(std::string_view key) const;
  std::vector<int64_t> integers(std::string_view key, int64_t min, int64_t max) const;
  std::vector<double> numbers(std::string_view key, double min, double max) const;
  std::vector<std::string_view> texts(std::string_view key) const;
  /// The bytes of an array of u8 or i8.
  std::string bytes(std::string_view key) const;

  int64_t integer_or(std::string_view key, int64_t otherwise, int64_t min, int64_t max) const {
    return has(key) ? integer(key, min, max) : otherwise;
  }
  double number_or(std::string_view key, double otherwise, double min, double max) const {
    return has(key) ? number(key, min, max) : otherwise;
  }
  bool boolean_or(std::string_view key, bool otherwise) const { return has(key) ? boolean(key) : otherwise; }

  /// What errors call the file.
  const std::string& file() const { return file_; }
  std::vector<std::string_view> keys() const;

 private:
  friend class GgufFile;
  struct Pair {
    GgufType type = GgufType::u8;  ///< of the value, or of an array's elements
    bool is_array = false;
    uint64_t count = 1;
    std::span<const std::byte> bytes;  ///< in the file
  };
  const Pair& scalar(std::string_view key) const;
  const Pair& array(std::string_view key) const;

  std::string file_;
  std::map<std::string_view, Pair> pairs_;  ///< keys lie in the file
};

/// A GGUF file (version 2 or 3, little-endian) opened for reading. Everything in front of the tensors' bytes is checked
/// first, against the size of the file: counts, lengths, types, duplicates, shapes, alignment, and that no two tensors
/// overlap. Nothing is copied until it is read.
class GgufFile {
 public:
  /// Maps the file. Throws Error.
  explicit GgufFile(const std::filesystem::path& path);
  /// Looks at bytes that the caller keeps alive. Throws Error; `name` is what it calls them.
  GgufFile(std::span<const std::byte> bytes, std::string name);
  GgufFile(const GgufFile&) = delete;
  GgufFile& operator=(const GgufFile&) = delete;

  const std::string& name() const { return metadata_.file(); }
  uint64_t bytes() const { return bytes_; }
  const GgufMetadata& metadata() const { return metadata_; }
  /// In the order of their bytes.
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  /// Lets go of the memory that reading these bytes took; they can be read again.
  void release(std::span<const std::byte> part) const;

 private:
  void parse(std::span<const std::byte> bytes);

  std::optional<MappedFile> file_;
  uint64_t bytes_ = 0;
  GgufMetadata metadata_;
  std::vector<GgufTensor> tensors_;
};

/// All shards of a model: NAME.gguf, or NAME-00001-of-00003.gguf and those beside it.
class GgufShards {
 public:
  struct Tensor {
    const GgufFile* file = nullptr;
    const GgufTensor* entry = nullptr;
  };

  /// `path`: any of the shards. Throws Error, also when one is missing or two have one tensor.
  explicit GgufShards(const std::filesystem::path& path);

  /// What errors call the whole: the first file.
  const std::string& name() const { return files_.front().name(); }
  const std::list<GgufFile>& files() const { return files_; }
  /// Of the first file, which has all of the model's.
  const GgufMetadata& metadata() const { return files_.front().metadata(); }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// nullptr when there is no such tensor.
  const Tensor* find(std::string_view tensor) const;
  uint64_t bytes() const;

 private:
  void add_tensors(const GgufFile& file);

  std::list<GgufFile> files_;
  std::vector<Tensor> tensors_;
  std::map<std::string_view, size_t> index_;
};

/// Metadata to write, in the order of the calls.
class GgufPairs {
 public:
  void add_integer(std::string_view key, uint32_t value);
  void add_number(std::string_view key, float value);
  void add_boolean(std::string_view key, bool value);
  void add_text(std::string_view key, std::string_view value);
  void add_integers(std::string_view key, std::span<const int32_t> values);
  void add_numbers(std::string_view key, std::span<const float> values);
  void add_texts(std::string_view key, std::span<const std::string> values);
  /// An array of u8.
  void add_bytes(std::string_view key, std::string_view values);

 private:
  friend void write_gguf(const std::filesystem::path&, const GgufPairs&, const std::vector<struct GgufSource>&);
  void start(std::string_view key, GgufType type);

  std::string bytes_;
  uint64_t count_ = 0;
};

/// A tensor to write. `data` is called once, when its turn comes, and what it returns must stay valid until the next
/// call.
struct GgufSource {
  std::string name;
  const GgufTensorType* type = nullptr;
  std::vector<int64_t> shape;  ///< as in GgufTensor
  std::function<std::span<const std::byte>()> data;
};

/// Bytes of a tensor; nothing where its rows are no whole blocks, a dimension is not positive or there are too many.
std::optional<uint64_t> gguf_bytes(const GgufTensorType& type, std::span<const int64_t> shape);

/// Writes a file of version 3 atomically (see AtomicFile). Equal inputs give equal bytes. Throws Error, before touching
/// the disk when names or shapes are wrong.
void write_gguf(const std::filesystem::path& path, const GgufPairs& metadata, const std::vector<GgufSource>& tensors);

}  // namespace vkformer
