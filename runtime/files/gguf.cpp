#include "runtime/files/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/gguf_types.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian; so must the machine be");

constexpr uint64_t most_pairs = 1 << 16, most_tensors = 1 << 20;
constexpr size_t longest_key = (1 << 16) - 1, longest_tensor_name = 64;

/// In the order of their ids. Types of ggml that are gone, or only of its products, are not here.
constexpr std::array tensor_types = {
    GgufTensorType{0, "F32", 1, 4},         GgufTensorType{1, "F16", 1, 2},
    GgufTensorType{2, "Q4_0", 32, 18},      GgufTensorType{3, "Q4_1", 32, 20},
    GgufTensorType{6, "Q5_0", 32, 22},      GgufTensorType{7, "Q5_1", 32, 24},
    GgufTensorType{8, "Q8_0", 32, 34},      GgufTensorType{10, "Q2_K", 256, 84},
    GgufTensorType{11, "Q3_K", 256, 110},   GgufTensorType{12, "Q4_K", 256, 144},
    GgufTensorType{13, "Q5_K", 256, 176},   GgufTensorType{14, "Q6_K", 256, 210},
    GgufTensorType{16, "IQ2_XXS", 256, 66}, GgufTensorType{17, "IQ2_XS", 256, 74},
    GgufTensorType{18, "IQ3_XXS", 256, 98}, GgufTensorType{19, "IQ1_S", 256, 50},
    GgufTensorType{20, "IQ4_NL", 32, 18},   GgufTensorType{21, "IQ3_S", 256, 110},
    GgufTensorType{22, "IQ2_S", 256, 82},   GgufTensorType{23, "IQ4_XS", 256, 136},
    GgufTensorType{24, "I8", 1, 1},         GgufTensorType{25, "I16", 1, 2},
    GgufTensorType{26, "I32", 1, 4},        GgufTensorType{27, "I64", 1, 8},
    GgufTensorType{28, "F64", 1, 8},        GgufTensorType{29, "IQ1_M", 256, 56},
    GgufTensorType{30, "BF16", 1, 2},       GgufTensorType{34, "TQ1_0", 256, 54},
    GgufTensorType{35, "TQ2_0", 256, 66},   GgufTensorType{39, "MXFP4", 32, 17},
};

/// Bytes of a value in an array; 0: as many as it says.
uint64_t width_of(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean: return 1;
    case GgufType::u16:
    case GgufType::i16: return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32: return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64: return 8;
    default: return 0;
  }
}

std::string_view text_at(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads a file from its start; every step is checked against its end.
class Cursor {
 public:
  Cursor(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  uint64_t position() const { return position_; }
  uint64_t rest() const { return bytes_.size() - position_; }

  std::span<const std::byte> take(uint64_t count, const char* what) {
    check(count <= rest(), "{}: {} at byte {} needs {} bytes, {} are left; the file is cut short or damaged", file_,
          what, position_, count, rest());
    const auto part = bytes_.subspan(position_, count);
    position_ += count;
    return part;
  }
  template <class Number>
  Number number(const char* what) {
    Number value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::string_view text(const char* what) { return text_at(take(number<uint64_t>(what), what)); }

 private:
  std::span<const std::byte> bytes_;
  const std::string& file_;
  uint64_t position_ = 0;
};

template <class Number>
Number number_at(std::span<const std::byte> bytes, uint64_t i) {
  Number value;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);  // the file promises no alignment
  return value;
}

/// A whole number of any width; nothing for other types and what is above 2^63 - 1.
std::optional<int64_t> integer_at(GgufType type, std::span<const std::byte> bytes, uint64_t i) {
  switch (type) {
    case GgufType::u8: return number_at<uint8_t>(bytes, i);
    case GgufType::i8: return number_at<int8_t>(bytes, i);
    case GgufType::u16: return number_at<uint16_t>(bytes, i);
    case GgufType::i16: return number_at<int16_t>(bytes, i);
    case GgufType::u32: return number_at<uint32_t>(bytes, i);
    case GgufType::i32: return number_at<int32_t>(bytes, i);
    case GgufType::i64: return number_at<int64_t>(bytes, i);
    case GgufType::u64: {
      const auto value = number_at<uint64_t>(bytes, i);
      return std::in_range<int64_t>(value) ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<double> float_at(GgufType type, std::span<const std::byte> bytes, uint64_t i) {
  if (type == GgufType::f32) return number_at<float>(bytes, i);
  if (type == GgufType::f64) return number_at<double>(bytes, i);
  if (const auto whole = integer_at(type, bytes, i)) return static_cast<double>(*whole);
  return std::nullopt;
}

GgufType value_type(Cursor& cursor, const std::string& where) {
  const auto type = cursor.number<uint32_t>("a value's type");
  check(type <= static_cast<uint32_t>(GgufType::f64), "{}: unknown type {} of a value; the file is damaged", where,
        type);
  return static_cast<GgufType>(type);
}

/// The bytes of `count` values.
std::span<const std::byte> values_of(Cursor& cursor, GgufType type, uint64_t count, const std::string& where) {
  Cursor values = cursor;
  if (const uint64_t width = width_of(type)) {
    check(count <= cursor.rest() / width,
          "{}: {} values do not fit into the {} bytes that are left; the file is damaged", where, count, cursor.rest());
    return cursor.take(count * width, "values");
  }
  check(type == GgufType::text, "{}: arrays of arrays are not supported", where);
  check(count <= cursor.rest() / sizeof(uint64_t),
        "{}: {} strings do not fit into the {} bytes that are left; the file is damaged", where, count, cursor.rest());
  for (uint64_t i = 0; i < count; ++i) values.text("a string");
  return cursor.take(values.position() - cursor.position(), "strings");
}

std::string_view name_of(GgufType type) {
  constexpr std::array<std::string_view, 13> names = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                      "bool", "string", "array", "u64", "i64", "f64"};
  return names[static_cast<size_t>(type)];
}

bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

const GgufTensorType* gguf_tensor_type(uint32_t id) {
  const auto found =
      std::find_if(tensor_types.begin(), tensor_types.end(), [&](const GgufTensorType& type) { return type.id == id; });
  return found == tensor_types.end() ? nullptr : &*found;
}

const GgufTensorType* gguf_tensor_type(std::string_view name) {
  const auto found = std::find_if(tensor_types.begin(), tensor_types.end(),
                                  [&](const GgufTensorType& type) { return type.name == name; });
  return found == tensor_types.end() ? nullptr : &*found;
}

std::optional<uint64_t> gguf_bytes(const GgufTensorType& type, std::span<const int64_t> shape) {
  if (shape.empty() || shape.back() % type.values != 0) return std::nullopt;
  if (std::any_of(shape.begin(), shape.end(), [](int64_t dimension) { return dimension <= 0; })) return std::nullopt;
  int64_t bytes = type.bytes;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t factor = i + 1 == shape.size() ? shape[i] / type.values : shape[i];
    if (factor > INT64_MAX / bytes) return std::nullopt;
    bytes *= factor;
  }
  return static_cast<uint64_t>(bytes);
}

const GgufMetadata::Pair& GgufMetadata::scalar(std::string_view key) const {
  const auto found = pairs_.find(key);
  check(found != pairs_.end(), "{}: key {} is missing", file_, printable(key));
  check(!found->second.is_array, "{}: key {} is an array, not one value", file_, printable(key));
  return found->second;
}

const GgufMetadata::Pair& GgufMetadata::array(std::string_view key) const {
  const auto found = pairs_.find(key);
  check(found != pairs_.end(), "{}: key {} is missing", file_, printable(key));
  check(found->second.is_array, "{}: key {} is not an array", file_, printable(key));
  return found->second;
}

std::vector<std::string_view> GgufMetadata::keys() const {
  std::vector<std::string_view> keys;
  for (const auto& [key, pair] : pairs_) keys.push_back(key);
  return keys;
}

int64_t GgufMetadata::integer(std::string_view key, int64_t min, int64_t max) const {
  const Pair& pair = scalar(key);
  const auto value = integer_at(pair.type, pair.bytes, 0);
  check(value.has_value(), "{}: key {} is of type {}, not a whole number", file_, printable(key), name_of(pair.type));
  check(*value >= min && *value <= max, "{}: key {} is {}, not from {} to {}", file_, printable(key), *value, min, max);
  return *value;
}

double GgufMetadata::number(std::string_view key, double min, double max) const {
  const Pair& pair = scalar(key);
  const auto value = float_at(pair.type, pair.bytes, 0);
  check(value.has_value(), "{}: key {} is of type {}, not a number", file_, printable(key), name_of(pair.type));
  check(*value >= min && *value <= max, "{}: key {} is {}, not from {} to {}", file_, printable(key), *value, min, max);
  return *value;
}

bool GgufMetadata::boolean(std::string_view key) const {
  const Pair& pair = scalar(key);
  check(pair.type == GgufType::boolean, "{}: key {} is of type {}, not a boolean", file_, printable(key),
        name_of(pair.type));
  return pair.bytes[0] != std::byte{0};
}

std::string_view GgufMetadata::text(std::string_view key) const {
  const Pair& pair = scalar(key);
  check(pair.type == GgufType::text, "{}: key {} is of type {}, not a string", file_, printable(key),
        name_of(pair.type));
  const std::string_view text = text_at(pair.bytes.subspan(sizeof(uint64_t)));
  check(is_utf8(text), "{}: key {} is not UTF-8: {}", file_, printable(key), in_quotes(text));
  return text;
}

std::optional<uint64_t> GgufMetadata::array_size(std::string_view key) const {
  const auto found = pairs_.find(key);
  return found != pairs_.end() && found->second.is_array ? std::optional(found->second.count) : std::nullopt;
}

std::vector<int64_t> GgufMetadata::integers(std::string_view key, int64_t min, int64_t max) const {
  const Pair& pair = array(key);
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < pair.count; ++i) {
    // Some converters write lists of switches.
    const auto value = pair.type == GgufType::boolean ? std::optional(int64_t{number_at<uint8_t>(pair.bytes, i)})
                                                      : integer_at(pair.type, pair.bytes, i);
    check(value.has_value(), "{}: key {} has values of type {}, not whole numbers", file_, printable(key),
          name_of(pair.type));
    check(*value >= min && *value <= max, "{}: key {} has {}, not only values from {} to {}", file_, printable(key),
          *value, min, max);
    values.push_back(*value);
  }
  return values;
}

std::vector<double> GgufMetadata::numbers(std::string_view key, double min, double max) const {
  const Pair& pair = array(key);
  std::vector<double> values;
  for (uint64_t i = 0; i < pair.count; ++i) {
    const auto value = float_at(pair.type, pair.bytes, i);
    check(value.has_value(), "{}: key {} has values of type {}, not numbers", file_, printable(key),
          name_of(pair.type));
    check(*value >= min && *value <= max, "{}: key {} has {}, not only values from {} to {}", file_, printable(key),
          *value, min, max);
    values.push_back(*value);
  }
  return values;
}

std::vector<std::string_view> GgufMetadata::texts(std::string_view key) const {
  const Pair& pair = array(key);
  check(pair.type == GgufType::text, "{}: key {} has values of type {}, not strings", file_, printable(key),
        name_of(pair.type));
  std::vector<std::string_view> texts;
  Cursor cursor(pair.bytes, file_);
  for (uint64_t i = 0; i < pair.count; ++i) {
    texts.push_back(cursor.text("a string"));
    check(is_utf8(texts.back()), "{}: key {}: string {} is not UTF-8: {}", file_, printable(key), i,
          in_quotes(texts.back()));
  }
  return texts;
}

std::string GgufMetadata::bytes(std::string_view key) const {
  const Pair& pair = array(key);
  check(pair.type == GgufType::u8 || pair.type == GgufType::i8, "{}: key {} has values of type {}, not bytes", file_,
        printable(key), name_of(pair.type));
  return std::string(text_at(pair.bytes));
}

GgufFile::GgufFile(const std::filesystem::path& path) : file_(path) {
  metadata_.file_ = printable(path.generic_string());
  parse(file_->bytes());
}

GgufFile::GgufFile(std::span<const std::byte> bytes, std::string name) {
  metadata_.file_ = std::move(name);
  parse(bytes);
}

void GgufFile::release(std::span<const std::byte> part) const {
  if (file_) file_->release(part);
}

void GgufFile::parse(std::span<const std::byte> bytes) {
  bytes_ = bytes.size();
  Cursor cursor(bytes, name());
  check(bytes.size() >= gguf_magic.size() && text_at(bytes).starts_with(gguf_magic),
        "{}: not a GGUF file (it does not start with GGUF); check the path or download it again", name());
  cursor.take(gguf_magic.size(), "the magic");
  const auto version = cursor.number<uint32_t>("the version");
  check(version == 2 || version == 3, "{}: GGUF version {} is not supported{}; 2 and 3 are", name(), version,
        version == 0x03000000u || version == 0x02000000u ? " (the file is big-endian)" : "");
  const auto tensor_count = cursor.number<uint64_t>("the number of tensors");
  const auto pair_count = cursor.number<uint64_t>("the number of pairs");
  check(pair_count <= most_pairs, "{}: {} pairs of metadata are more than {}; the file is damaged", name(), pair_count,
        most_pairs);
  check(tensor_count <= most_tensors, "{}: {} tensors are more than {}; the file is damaged", name(), tensor_count,
        most_tensors);
  for (uint64_t i = 0; i < pair_count; ++i) {
    const std::string_view key = cursor.text("a key");
    check(!key.empty() && key.size() <= longest_key, "{}: a key of {} bytes; the file is damaged", name(), key.size());
    const std::string where = fmt::format("{}: key {}", name(), printable(key));
    GgufMetadata::Pair pair{.type = value_type(cursor, where)};
    pair.is_array = pair.type == GgufType::array;
    if (pair.is_array) {
      pair.type = value_type(cursor, where);
      pair.count = cursor.number<uint64_t>("an array's length");
    }
    pair.bytes = values_of(cursor, pair.type, pair.count, where);
    check(metadata_.pairs_.emplace(key, pair).second, "{} is there twice; the file is damaged", where);
  }

  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i < tensor_count; ++i) {
    GgufTensor tensor{.name = std::string(cursor.text("a tensor's name"))};
    const std::string where = fmt::format("{}: tensor {}", name(), in_quotes(tensor.name, 120));
    check(!tensor.name.empty() && tensor.name.size() <= longest_tensor_name,
          "{}: its name has {} bytes, not from 1 to {}; the file is damaged", where, tensor.name.size(),
          longest_tensor_name);
    const auto rank = cursor.number<uint32_t>("a tensor's rank");
    check(rank >= 1 && rank <= 4, "{}: it has {} dimensions, not from 1 to 4; the file is damaged", where, rank);
    for (uint32_t axis = 0; axis < rank; ++axis) {
      const auto dimension = cursor.number<uint64_t>("a dimension");
      check(dimension >= 1 && dimension <= uint64_t{INT64_MAX}, "{}: a dimension is {}; the file is damaged", where,
            dimension);
      tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(dimension));
    }
    const auto type = cursor.number<uint32_t>("a tensor's type");
    tensor.type = gguf_tensor_type(type);
    check(tensor.type != nullptr, "{}: its type has the unknown number {}; take a file of another type", where, type);
    check(tensor.shape.back() % tensor.type->values == 0,
          "{}: rows of {} values are no whole blocks of {}'s {}; the file is damaged", where, tensor.shape.back(),
          tensor.type->name, tensor.type->values);
    check(gguf_bytes(*tensor.type, tensor.shape).has_value(),
          "{}: its shape has more elements than can be; the file is damaged", where);
    offsets.push_back(cursor.number<uint64_t>("a tensor's offset"));
    tensors_.push_back(std::move(tensor));
  }

  const auto alignment =
      static_cast<uint64_t>(metadata_.integer_or("general.alignment", gguf_alignment, 1, int64_t{1} << 20));
  check(is_power_of_two(alignment), "{}: general.alignment {} is no power of two; the file is damaged", name(),
        alignment);
  const uint64_t start = (cursor.position() + alignment - 1) / alignment * alignment;
  const std::span<const std::byte> data = start <= bytes.size() ? bytes.subspan(start) : std::span<const std::byte>();
  for (size_t i = 0; i < tensors_.size(); ++i) {
    GgufTensor& tensor = tensors_[i];
    const uint64_t size = *gguf_bytes(*tensor.type, tensor.shape), offset = offsets[i];
    const auto where = [&] { return fmt::format("{}: tensor {}", name(), in_quotes(tensor.name, 120)); };
    check(offset % alignment == 0, "{}: its offset {} is no multiple of {}; the file is damaged", where(), offset,
          alignment);
    check(offset <= data.size() && size <= data.size() - offset,
          "{}: its {} bytes from byte {} on end behind the {} of the file; it is cut short, download it again", where(),
          size, offset, data.size());
    tensor.bytes = data.subspan(offset, size);
  }
  std::sort(tensors_.begin(), tensors_.end(),
            [](const GgufTensor& a, const GgufTensor& b) { return a.bytes.data() < b.bytes.data(); });
  for (size_t i = 1; i < tensors_.size(); ++i)
    check(tensors_[i].bytes.data() >= tensors_[i - 1].bytes.data() + tensors_[i - 1].bytes.size(),
          "{}: the data of tensor {} overlaps another's; the file is damaged", name(),
          in_quotes(tensors_[i].name, 120));
  std::vector<std::string_view> names;
  for (const GgufTensor& tensor : tensors_) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) fail("{}: tensor {} is there twice; the file is damaged", name(), in_quotes(*twice, 120));
}

}  // namespace vkformer
