#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

template <class Element>
TensorSource source(std::string name, FileDType dtype, std::vector<int64_t> shape, std::span<const Element> values) {
  return {std::move(name), dtype, std::move(shape), [values] { return std::as_bytes(values); }};
}

}  // namespace

TensorSource TensorSource::of(std::string name, std::vector<int64_t> shape, std::span<const float> values) {
  return source(std::move(name), FileDType::f32, std::move(shape), values);
}
TensorSource TensorSource::of(std::string name, std::vector<int64_t> shape, std::span<const int32_t> values) {
  return source(std::move(name), FileDType::i32, std::move(shape), values);
}
TensorSource TensorSource::of(std::string name, std::vector<int64_t> shape, std::span<const int64_t> values) {
  return source(std::move(name), FileDType::i64, std::move(shape), values);
}

void write_safetensors(const std::filesystem::path& path, std::vector<TensorSource> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string file = printable(path.generic_string());
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const TensorSource& a, const TensorSource& b) { return size_of(a.dtype) > size_of(b.dtype); });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string_view> names;
  std::vector<uint64_t> sizes;
  uint64_t end = 0;
  for (const TensorSource& tensor : tensors) {
    check(tensor.name != "__metadata__" && names.insert(tensor.name).second,
          "cannot write {}: the tensor name {} is taken; give every tensor its own", file, in_quotes(tensor.name, 120));
    const std::optional<uint64_t> bytes = tensor_bytes(tensor.dtype, tensor.shape);
    check(bytes && *bytes <= uint64_t{INT64_MAX} - end, "cannot write {}: the shape of tensor {} is impossible", file,
          in_quotes(tensor.name, 120));
    const uint64_t begin = end;
    end += *bytes;
    sizes.push_back(*bytes);
    header[tensor.name] = {{"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    fail("cannot write {}: a tensor name or a metadata entry is not valid UTF-8", file);
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');

  const uint64_t header_length = text.size();
  AtomicFile out(path, sizeof header_length + header_length + end);
  out.write(std::as_bytes(std::span(&header_length, 1)));
  out.write(std::as_bytes(std::span(text)));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const std::byte> data = tensors[i].data();
    check(data.size() == sizes[i], "cannot write {}: tensor {} needs {} bytes, {} were given", file,
          in_quotes(tensors[i].name, 120), sizes[i], data.size());
    out.write(data);
  }
  out.commit();
}

}  // namespace vkformer
