#include "runtime/files/weight_files.h"

#include <cstring>
#include <numeric>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/files/weight_index.h"

namespace vkformer {
namespace {

namespace fs = std::filesystem;

class SafetensorsTensor : public WeightTensor {
 public:
  SafetensorsTensor(const SafetensorsFile& file, const TensorEntry& entry)
      : WeightTensor(entry.name, entry.shape, entry.elements(), name_of(entry.dtype), entry.bytes.size()),
        file_(file),
        entry_(entry) {}

  bool is_float() const override {
    return entry_.dtype == FileDType::f32 || entry_.dtype == FileDType::f16 || entry_.dtype == FileDType::bf16;
  }
  void read_floats(int64_t first, std::span<float> out) const override { file_.read_floats(entry_, first, out); }
  std::optional<DType> stored(bool columns) const override {
    if (columns) return std::nullopt;
    switch (entry_.dtype) {
      case FileDType::f32: return DType::f32;
      case FileDType::f16: return DType::f16;
      case FileDType::bf16: return DType::bf16;
      default: return std::nullopt;
    }
  }
  void read_stored(int64_t first, std::span<std::byte> out) const override {
    if (out.empty()) return;  // memcpy takes no nullptr
    const auto begin = static_cast<size_t>(first * size_of(entry_.dtype));
    std::memcpy(out.data(), entry_.bytes.subspan(begin, out.size()).data(), out.size());  // std::copy goes byte by byte
  }
  void release(int64_t first, int64_t count) const override { file_.release(entry_, first, count); }
  const SafetensorsFile& file() const { return file_; }

 private:
  const SafetensorsFile& file_;
  const TensorEntry& entry_;
};

}  // namespace

WeightFiles::WeightFiles(const fs::path& path) {
  const bool folder = fs::is_directory(path);
  const fs::path file = folder ? path / "model.safetensors" : path;
  const fs::path index = path / "model.safetensors.index.json";
  if (!folder || fs::exists(file)) {
    name_ = printable(file.generic_string());
    add_tensors(files_.emplace_back(file));
    return;
  }
  check(fs::exists(index),
        "{} has neither model.safetensors nor model.safetensors.index.json, nor a pytorch_model.bin; check the path or "
        "download them",
        printable(path.generic_string()));
  open_shards(index);
}

void WeightFiles::open_shards(const fs::path& path) {
  const WeightIndex index(path);
  name_ = index.name();
  std::map<std::string, const SafetensorsFile*> shards;
  for (const auto& [shard, file] : index.files()) add_tensors(*(shards[shard] = &files_.emplace_back(file)));
  for (const auto& [tensor, shard] : index.tensors())
    if (shards.at(shard)->find(tensor) == nullptr) index.fail_without(tensor);
}

void WeightFiles::add_tensors(const SafetensorsFile& file) {
  for (const TensorEntry& entry : file.tensors()) {
    if (const WeightTensor* known = find(entry.name))
      fail("tensor {} is both in {} and in {}; remove one of them", in_quotes(entry.name, 120),
           static_cast<const SafetensorsTensor*>(known)->file().name(), file.name());
    add(std::make_unique<SafetensorsTensor>(file, entry));
  }
}

uint64_t WeightFiles::bytes() const {
  return std::accumulate(files_.begin(), files_.end(), uint64_t{0},
                         [](uint64_t sum, const SafetensorsFile& file) { return sum + file.bytes().size(); });
}

}  // namespace vkformer
