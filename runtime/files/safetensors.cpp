#include "runtime/files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"
#include "runtime/half.h"

namespace vkformer {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the format is little-endian; so must the machine be");

constexpr uint64_t length_bytes = 8;
constexpr uint64_t header_limit = 100'000'000;  // as in the format's own library

struct FileDTypeInfo {
  std::string_view name;
  int64_t size;
};
/// In the order of FileDType.
constexpr std::array<FileDTypeInfo, 16> dtype_table = {{{"BOOL", 1},
                                                        {"U8", 1},
                                                        {"I8", 1},
                                                        {"F8_E5M2", 1},
                                                        {"F8_E4M3", 1},
                                                        {"F8_E8M0", 1},
                                                        {"I16", 2},
                                                        {"U16", 2},
                                                        {"F16", 2},
                                                        {"BF16", 2},
                                                        {"I32", 4},
                                                        {"U32", 4},
                                                        {"F32", 4},
                                                        {"F64", 8},
                                                        {"I64", 8},
                                                        {"U64", 8}}};

std::optional<FileDType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < dtype_table.size(); ++i)
    if (dtype_table[i].name == name) return static_cast<FileDType>(i);
  return std::nullopt;
}

/// A header field that must be a list of whole numbers from 0 to 2^63 - 1.
std::vector<int64_t> integers(const json& tensor, const char* key, const std::string& where) {
  const auto field = tensor.find(key);
  check(field != tensor.end() && field->is_array(), "{}: {} is missing or not a list; the header is damaged", where,
        key);
  std::vector<int64_t> values;
  for (const json& value : *field) {
    check(value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{INT64_MAX},
          "{}: {} must hold whole numbers that are not negative; the header is damaged", where, key);
    values.push_back(value.get<int64_t>());
  }
  return values;
}

/// Sets type, shape and bytes of one tensor; `data` is what follows the header.
TensorEntry entry_of(const std::string& name, const json& fields, std::span<const std::byte> data,
                     const std::string& file) {
  const std::string where = fmt::format("{}: tensor {}", file, in_quotes(name, 120));
  check(fields.is_object(), "{}: its header entry is not an object; the header is damaged", where);
  const auto dtype_field = fields.find("dtype");
  check(dtype_field != fields.end() && dtype_field->is_string(), "{}: dtype is missing; the header is damaged", where);
  const auto& dtype_name = dtype_field->get_ref<const std::string&>();
  const std::optional<FileDType> dtype = dtype_named(dtype_name);
  check(dtype.has_value(), "{}: unknown dtype {}; convert the file to F32, F16 or BF16", where, in_quotes(dtype_name));

  TensorEntry entry{name, *dtype, integers(fields, "shape", where), {}};
  const std::vector<int64_t> offsets = integers(fields, "data_offsets", where);
  check(offsets.size() == 2 && offsets[0] <= offsets[1], "{}: data_offsets must be [begin, end]; the header is damaged",
        where);
  const auto begin = static_cast<uint64_t>(offsets[0]);
  const auto end = static_cast<uint64_t>(offsets[1]);
  check(end <= data.size(), "{}: its data ends at byte {} of {}; the file is cut short, download it again", where, end,
        data.size());
  const std::optional<uint64_t> bytes = tensor_bytes(*dtype, entry.shape);
  check(bytes.has_value(), "{}: its shape has more elements than can be; the header is damaged", where);
  check(*bytes == end - begin, "{}: its shape and dtype need {} bytes, data_offsets give {}; the header is damaged",
        where, *bytes, end - begin);
  entry.bytes = data.subspan(begin, end - begin);
  return entry;
}

std::map<std::string, std::string> metadata_of(const json& fields, const std::string& file) {
  check(fields.is_object(), "{}: __metadata__ must be an object of strings; the header is damaged", file);
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : fields.items()) {
    check(value.is_string(), "{}: __metadata__ {} must be a string; the header is damaged", file, in_quotes(key));
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

template <class Element>
Element element_at(std::span<const std::byte> bytes, size_t i) {
  Element element;
  std::memcpy(&element, bytes.data() + i * sizeof(Element), sizeof(Element));  // the file promises no alignment
  return element;
}

/// The bytes of elements [first, first + count), which must be in the tensor.
std::span<const std::byte> part_of(const TensorEntry& entry, int64_t first, int64_t count) {
  check(first >= 0 && count >= 0 && first <= entry.elements() && count <= entry.elements() - first,
        "tensor {} has {} elements, {} from the {}th on were asked for", in_quotes(entry.name, 120), entry.elements(),
        count, first);
  const auto size = static_cast<size_t>(size_of(entry.dtype));
  return entry.bytes.subspan(static_cast<size_t>(first) * size, static_cast<size_t>(count) * size);
}

}  // namespace

std::string_view name_of(FileDType dtype) { return dtype_table[static_cast<size_t>(dtype)].name; }
int64_t size_of(FileDType dtype) { return dtype_table[static_cast<size_t>(dtype)].size; }

std::optional<uint64_t> tensor_bytes(FileDType dtype, std::span<const int64_t> shape) {
  if (std::any_of(shape.begin(), shape.end(), [](int64_t dimension) { return dimension < 0; })) return std::nullopt;
  // A dimension of 0 makes the product 0, however large the others are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t bytes = size_of(dtype);
  for (const int64_t dimension : shape) {
    if (dimension > INT64_MAX / bytes) return std::nullopt;
    bytes *= dimension;
  }
  return static_cast<uint64_t>(bytes);
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), name_(printable(path.generic_string())) {
  parse(file_->bytes());
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, std::string name) : name_(std::move(name)) {
  parse(bytes);
}

void SafetensorsFile::parse(std::span<const std::byte> bytes) {
  bytes_ = bytes;
  check(bytes.size() >= length_bytes, "{}: {} bytes are too few for a safetensors file; download it again", name_,
        bytes.size());
  const auto header_length = element_at<uint64_t>(bytes, 0);
  check(header_length <= header_limit,
        "{}: not a safetensors file (its header would have {} bytes); check the path or download it again", name_,
        header_length);
  check(header_length <= bytes.size() - length_bytes,
        "{}: the header needs {} bytes, the file has {}; it is cut short, download it again", name_, header_length,
        bytes.size() - length_bytes);
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + length_bytes, header_length);
  const std::span<const std::byte> data = bytes.subspan(length_bytes + header_length);

  const json root = parse_json(header, name_ + " (header)");
  check(root.is_object(), "{}: not a safetensors file (its header is not a JSON object); check the path", name_);
  for (const auto& [key, fields] : root.items()) {
    if (key == "__metadata__") {
      metadata_ = metadata_of(fields, name_);
    } else {
      tensors_.push_back(entry_of(key, fields, data, name_));
    }
  }

  // An empty tensor lies before the one that starts at the same byte.
  std::sort(tensors_.begin(), tensors_.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  const std::byte* expected = data.data();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorEntry& entry = tensors_[i];
    check(entry.bytes.data() == expected, "{}: the data of tensor {} {}; the header is damaged", name_,
          in_quotes(entry.name, 120), entry.bytes.data() < expected ? "overlaps another's" : "follows a hole");
    expected = entry.bytes.data() + entry.bytes.size();
    index_.emplace(entry.name, i);
  }
  check(expected == data.data() + data.size(), "{}: {} bytes follow the last tensor; the file is damaged", name_,
        data.data() + data.size() - expected);
}

const TensorEntry* SafetensorsFile::find(std::string_view tensor) const {
  const auto found = index_.find(tensor);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

const TensorEntry& SafetensorsFile::require(std::string_view tensor) const {
  const TensorEntry* entry = find(tensor);
  check(entry != nullptr, "{}: has no tensor {} among its {}; check that the file belongs to the model", name_,
        in_quotes(tensor, 120), tensors_.size());
  return *entry;
}

void SafetensorsFile::read_floats(const TensorEntry& entry, std::span<float> out) const {
  check(std::cmp_equal(entry.elements(), out.size()), "{}: tensor {} has {} elements, {} were asked for", name_,
        in_quotes(entry.name, 120), entry.elements(), out.size());
  read_floats(entry, 0, out);
}

void SafetensorsFile::read_floats(const TensorEntry& entry, int64_t first, std::span<float> out) const {
  const std::span<const std::byte> bytes = part_of(entry, first, static_cast<int64_t>(out.size()));
  if (entry.dtype == FileDType::f32) {
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  } else if (entry.dtype == FileDType::f16 || entry.dtype == FileDType::bf16) {
    const DType half = entry.dtype == FileDType::f16 ? DType::f16 : DType::bf16;
    for (size_t i = 0; i < out.size(); ++i) out[i] = from_half(half, element_at<uint16_t>(bytes, i));
  } else {
    fail("{}: tensor {} is {}, not F32, F16 or BF16; convert the file to one of them", name_,
         in_quotes(entry.name, 120), name_of(entry.dtype));
  }
}

void SafetensorsFile::release(const TensorEntry& entry, int64_t first, int64_t count) const {
  const std::span<const std::byte> bytes = part_of(entry, first, count);
  if (file_) file_->release(bytes);
}

void SafetensorsFile::read_ints(const TensorEntry& entry, std::span<int32_t> out) const {
  check(std::cmp_equal(entry.elements(), out.size()), "{}: tensor {} has {} elements, {} were asked for", name_,
        in_quotes(entry.name, 120), entry.elements(), out.size());
  if (entry.dtype == FileDType::i32) {
    if (!out.empty()) std::memcpy(out.data(), entry.bytes.data(), entry.bytes.size());
  } else if (entry.dtype == FileDType::i64) {
    for (size_t i = 0; i < out.size(); ++i) {
      const auto value = element_at<int64_t>(entry.bytes, i);
      if (!std::in_range<int32_t>(value))
        fail("{}: element {} of tensor {} is {}, which does not fit 32 bits; check the file", name_, i,
             in_quotes(entry.name, 120), value);
      out[i] = static_cast<int32_t>(value);
    }
  } else {
    fail("{}: tensor {} is {}, not I32 or I64; check that the file belongs to the model", name_,
         in_quotes(entry.name, 120), name_of(entry.dtype));
  }
}

}  // namespace vkformer
