#include "runtime/files/torch_file.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/check.h"
#include "runtime/files/pickled_state.h"
#include "runtime/files/utf8.h"
#include "runtime/files/zip_entries.h"

namespace vkformer {
namespace {

using Entries = std::map<std::string, std::span<const std::byte>, std::less<>>;

/// Whether elements lie one after the other, row by row. Where there is but one, no stride counts.
bool is_contiguous(const PickledTensor& tensor) {
  if (std::ranges::find(tensor.shape, 0) != tensor.shape.end()) return true;
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] == 1) continue;
    if (tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// Elements from the first to the last one, both included; nothing where that is no number.
std::optional<int64_t> extent_of(const PickledTensor& tensor) {
  int64_t last = 0;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] == 0) return 0;
    int64_t step = 0;
    if (__builtin_mul_overflow(tensor.shape[i] - 1, tensor.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  return last < INT64_MAX ? std::optional(last + 1) : std::nullopt;
}

TorchTensor place_in_storage(const PickledTensor& tensor, const Entries& storages, const std::string& prefix,
                             const std::string& file) {
  const std::string where = fmt::format("{}: tensor {}", file, in_quotes(tensor.name, 120));
  const auto storage = storages.find(prefix + tensor.storage);
  check(storage != storages.end(), "{}: its storage {} is not in the file; download it again", where,
        in_quotes(tensor.storage, 40));
  const int64_t size = size_of(tensor.dtype);
  const auto there = static_cast<int64_t>(storage->second.size()) / size;
  check(tensor.storage_elements <= there,
        "{}: its storage should have {} elements of {}, and has room for {}; download the file again", where,
        tensor.storage_elements, name_of(tensor.dtype), there);
  const std::optional<int64_t> elements = extent_of(tensor);
  check(elements && tensor_bytes(tensor.dtype, tensor.shape) && *elements <= tensor.storage_elements &&
            tensor.first <= tensor.storage_elements - *elements,
        "{}: it does not lie in its storage of {} elements; the file is damaged", where, tensor.storage_elements);
  return {.name = tensor.name,
          .dtype = tensor.dtype,
          .shape = tensor.shape,
          .strides = is_contiguous(tensor) ? std::vector<int64_t>() : tensor.strides,
          .bytes =
              storage->second.subspan(static_cast<size_t>(tensor.first * size), static_cast<size_t>(*elements * size))};
}

/// What one kind of files holds.
struct TorchContent {
  std::vector<PickledTensor> tensors;
  Entries storages;
  std::string prefix = {};  ///< of their names
};

TorchContent read_archive(std::span<const std::byte> bytes, const std::string& name) {
  TorchContent content{.tensors = {}, .storages = zip_entries(bytes, name)};
  const Entries& entries = content.storages;
  constexpr std::string_view pickle_name = "data.pkl";
  const auto pickle = std::ranges::find_if(
      entries, [&](const auto& entry) { return entry.first == pickle_name || entry.first.ends_with("/data.pkl"); });
  check(pickle != entries.end(), "{}: the archive has no data.pkl, so that it is no state dict of PyTorch", name);
  const std::string folder = pickle->first.substr(0, pickle->first.size() - pickle_name.size());
  if (const auto order = entries.find(folder + "byteorder"); order != entries.end()) {
    const std::string_view text(reinterpret_cast<const char*>(order->second.data()), order->second.size());
    check(text == "little", "{}: its numbers are {}-endian; save it again on a little-endian machine", name,
          printable(text, 20));
  }
  content.tensors = read_state_dict(pickle->second, name);
  content.prefix = folder + "data/";
  return content;
}

/// Of each storage the number of its elements and then those, one storage after the other.
TorchContent read_older(std::span<const std::byte> bytes, const std::string& name) {
  OlderState older = read_older_state(bytes, name);
  std::map<std::string_view, int64_t> sizes;
  for (const PickledTensor& tensor : older.tensors) sizes.emplace(tensor.storage, size_of(tensor.dtype));
  TorchContent content;
  size_t at = older.length;
  for (const std::string& key : older.storages) {
    const auto size = sizes.find(key);
    check(size != sizes.end(), "{}: no tensor lies in its storage {}, so that nobody knows how large it is", name,
          in_quotes(key, 40));
    int64_t elements = 0;
    check(bytes.size() - at >= sizeof elements, "{}: it ends before storage {}; it is cut short, download it again",
          name, in_quotes(key, 40));
    std::memcpy(&elements, bytes.data() + at, sizeof elements);
    at += sizeof elements;
    const auto left = static_cast<int64_t>(bytes.size() - at);
    check(elements >= 0 && elements <= left / size->second,
          "{}: its storage {} has {} elements, {} bytes are left; it is cut short, download it again", name,
          in_quotes(key, 40), elements, left);
    const auto count = static_cast<size_t>(elements * size->second);
    check(content.storages.emplace(key, bytes.subspan(at, count)).second, "{}: it has storage {} twice", name,
          in_quotes(key, 40));
    at += count;
  }
  content.tensors = std::move(older.tensors);
  return content;
}

}  // namespace

int64_t TorchTensor::elements() const {
  return static_cast<int64_t>(*tensor_bytes(dtype, shape)) / size_of(dtype);  // they were checked
}

TorchFile::TorchFile(const std::filesystem::path& path)
    : file_(path), name_(printable(path.generic_string())), bytes_(file_->bytes()) {
  parse();
}

TorchFile::TorchFile(std::span<const std::byte> bytes, std::string name) : name_(std::move(name)), bytes_(bytes) {
  parse();
}

void TorchFile::parse() {
  const bool archive = bytes_.size() >= 4 && std::memcmp(bytes_.data(), "PK", 2) == 0;
  check(archive || is_older_state(bytes_),
        "{}: it is no file of torch.save; download it again, or model.safetensors in its place", name_);
  const TorchContent content = archive ? read_archive(bytes_, name_) : read_older(bytes_, name_);
  std::set<std::string_view> names;
  for (const PickledTensor& tensor : content.tensors) {
    check(names.insert(tensor.name).second, "{}: it has tensor {} twice; the file is damaged", name_,
          in_quotes(tensor.name, 120));
    tensors_.push_back(place_in_storage(tensor, content.storages, content.prefix, name_));
  }
  check(!tensors_.empty(), "{}: it holds no tensors", name_);
}

void TorchFile::read(const TorchTensor& tensor, int64_t first, std::span<std::byte> out) const {
  const auto size = static_cast<size_t>(size_of(tensor.dtype));
  const auto count = static_cast<int64_t>(out.size() / size);
  check(first >= 0 && count <= tensor.elements() && first <= tensor.elements() - count,
        "tensor {} has {} elements, {} from the {}th on were asked for", in_quotes(tensor.name, 120), tensor.elements(),
        count, first);
  if (tensor.strides.empty()) {
    if (!out.empty()) std::memcpy(out.data(), tensor.bytes.data() + static_cast<size_t>(first) * size, out.size());
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0;
    for (int64_t rest = first + i, d = std::ssize(tensor.shape); d-- > 0;) {
      const auto dimension = static_cast<size_t>(d);
      place += rest % tensor.shape[dimension] * tensor.strides[dimension];
      rest /= tensor.shape[dimension];
    }
    std::memcpy(out.data() + static_cast<size_t>(i) * size, tensor.bytes.data() + static_cast<size_t>(place) * size,
                size);
  }
}

void TorchFile::release(const TorchTensor& tensor, int64_t first, int64_t count) const {
  if (!file_ || !tensor.strides.empty()) return;
  const auto size = static_cast<size_t>(size_of(tensor.dtype));
  file_->release(tensor.bytes.subspan(static_cast<size_t>(first) * size, static_cast<size_t>(count) * size));
}

}  // namespace vkformer
