#include <set>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/gguf.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

template <class Number>
void append(std::string& bytes, Number value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string& bytes, std::string_view text) {
  append<uint64_t>(bytes, text.size());
  bytes += text;
}

template <class Number>
void append_array(std::string& bytes, GgufType type, std::span<const Number> values) {
  append(bytes, type);
  append<uint64_t>(bytes, values.size());
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

uint64_t aligned(uint64_t position) { return (position + gguf_alignment - 1) / gguf_alignment * gguf_alignment; }

}  // namespace

void GgufPairs::start(std::string_view key, GgufType type) {
  append_text(bytes_, key);
  append(bytes_, type);
  ++count_;
}

void GgufPairs::add_integer(std::string_view key, uint32_t value) {
  start(key, GgufType::u32);
  append(bytes_, value);
}
void GgufPairs::add_number(std::string_view key, float value) {
  start(key, GgufType::f32);
  append(bytes_, value);
}
void GgufPairs::add_boolean(std::string_view key, bool value) {
  start(key, GgufType::boolean);
  append<uint8_t>(bytes_, value);
}
void GgufPairs::add_text(std::string_view key, std::string_view value) {
  start(key, GgufType::text);
  append_text(bytes_, value);
}
void GgufPairs::add_integers(std::string_view key, std::span<const int32_t> values) {
  start(key, GgufType::array);
  append_array(bytes_, GgufType::i32, values);
}
void GgufPairs::add_numbers(std::string_view key, std::span<const float> values) {
  start(key, GgufType::array);
  append_array(bytes_, GgufType::f32, values);
}
void GgufPairs::add_texts(std::string_view key, std::span<const std::string> values) {
  start(key, GgufType::array);
  append(bytes_, GgufType::text);
  append<uint64_t>(bytes_, values.size());
  for (const std::string& value : values) append_text(bytes_, value);
}
void GgufPairs::add_bytes(std::string_view key, std::string_view values) {
  start(key, GgufType::array);
  append_array(bytes_, GgufType::u8, std::span(values));
}

void write_gguf(const std::filesystem::path& path, const GgufPairs& metadata, const std::vector<GgufSource>& tensors) {
  const std::string file = printable(path.generic_string());
  std::string header(gguf_magic);
  append<uint32_t>(header, 3);
  append<uint64_t>(header, tensors.size());
  append(header, metadata.count_);
  header += metadata.bytes_;
  std::set<std::string_view> names;
  std::vector<uint64_t> sizes;
  uint64_t end = 0;
  for (const GgufSource& tensor : tensors) {
    check(names.insert(tensor.name).second, "cannot write {}: the tensor name {} is taken; give every tensor its own",
          file, in_quotes(tensor.name, 120));
    const auto bytes = gguf_bytes(*tensor.type, tensor.shape);
    check(bytes && *bytes <= uint64_t{INT64_MAX} / 2 - end && tensor.shape.size() <= 4 && tensor.name.size() < 64,
          "cannot write {}: the shape or the name of tensor {} is impossible", file, in_quotes(tensor.name, 120));
    append_text(header, tensor.name);
    append(header, static_cast<uint32_t>(tensor.shape.size()));
    for (size_t axis = tensor.shape.size(); axis-- > 0;) append(header, static_cast<uint64_t>(tensor.shape[axis]));
    append(header, tensor.type->id);
    append(header, end);
    sizes.push_back(*bytes);
    end += aligned(*bytes);
  }
  header.resize(aligned(header.size()));

  AtomicFile out(path, header.size() + end);
  out.write(std::as_bytes(std::span(header)));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const std::byte> data = tensors[i].data();
    check(data.size() == sizes[i], "cannot write {}: tensor {} needs {} bytes, {} were given", file,
          in_quotes(tensors[i].name, 120), sizes[i], data.size());
    out.write(data);
    const std::string padding(aligned(sizes[i]) - sizes[i], '\0');
    out.write(std::as_bytes(std::span(padding)));
  }
  out.commit();
}

}  // namespace vkformer
