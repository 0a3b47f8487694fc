#include "runtime/files/torch_weights.h"

#include <numeric>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/files/weight_index.h"
#include "runtime/half.h"

namespace vkformer {
namespace {

namespace fs = std::filesystem;

constexpr const char *torch_name = "pytorch_model.bin", *torch_index = "pytorch_model.bin.index.json";

class TorchEntry : public WeightTensor {
 public:
  TorchEntry(const TorchFile& file, const TorchTensor& tensor)
      : WeightTensor(tensor.name, tensor.shape, tensor.elements(), name_of(tensor.dtype),
                     *tensor_bytes(tensor.dtype, tensor.shape)),
        file_(file),
        tensor_(tensor) {}

  bool is_float() const override { return floats().has_value(); }
  void read_floats(int64_t first, std::span<float> out) const override {
    const auto dtype = floats();
    check(dtype.has_value(), "{}: tensor {} is {}, not F32, F16 or BF16; convert the file to one of them", file_.name(),
          in_quotes(name(), 120), type());
    if (dtype == DType::f32) return file_.read(tensor_, first, std::as_writable_bytes(out));
    std::vector<uint16_t> halves(out.size());
    file_.read(tensor_, first, std::as_writable_bytes(std::span(halves)));
    for (size_t i = 0; i < out.size(); ++i) out[i] = from_half(*dtype, halves[i]);
  }
  std::optional<DType> stored(bool columns) const override { return columns ? std::nullopt : floats(); }
  void read_stored(int64_t first, std::span<std::byte> out) const override { file_.read(tensor_, first, out); }
  void release(int64_t first, int64_t count) const override { file_.release(tensor_, first, count); }
  const TorchFile& file() const { return file_; }

 private:
  std::optional<DType> floats() const {
    switch (tensor_.dtype) {
      case FileDType::f32: return DType::f32;
      case FileDType::f16: return DType::f16;
      case FileDType::bf16: return DType::bf16;
      default: return std::nullopt;
    }
  }

  const TorchFile& file_;
  const TorchTensor& tensor_;
};

}  // namespace

bool TorchWeights::are_in(const fs::path& folder) {
  if (fs::exists(folder / "model.safetensors") || fs::exists(folder / "model.safetensors.index.json")) return false;
  return fs::exists(folder / torch_name) || fs::exists(folder / torch_index);
}

TorchWeights::TorchWeights(const fs::path& folder) {
  if (const fs::path file = folder / torch_name; fs::exists(file)) {
    name_ = printable(file.generic_string());
    add_tensors(files_.emplace_back(file));
    return;
  }
  const WeightIndex index(folder / torch_index);
  name_ = index.name();
  std::map<std::string, const TorchFile*> shards;
  for (const auto& [shard, path] : index.files()) add_tensors(*(shards[shard] = &files_.emplace_back(path)));
  for (const auto& [tensor, shard] : index.tensors()) {
    const auto* entry = static_cast<const TorchEntry*>(find(tensor));
    if (entry == nullptr || &entry->file() != shards.at(shard)) index.fail_without(tensor);
  }
}

void TorchWeights::add_tensors(const TorchFile& file) {
  for (const TorchTensor& tensor : file.tensors()) {
    if (const WeightTensor* known = find(tensor.name))
      fail("tensor {} is both in {} and in {}; remove one of them", in_quotes(tensor.name, 120),
           static_cast<const TorchEntry*>(known)->file().name(), file.name());
    add(std::make_unique<TorchEntry>(file, tensor));
  }
}

uint64_t TorchWeights::bytes() const {
  return std::accumulate(files_.begin(), files_.end(), uint64_t{0},
                         [](uint64_t sum, const TorchFile& file) { return sum + file.bytes().size(); });
}

}  // namespace vkformer
