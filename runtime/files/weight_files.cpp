#include "runtime/files/weight_files.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

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
    const auto begin = static_cast<size_t>(first * size_of(entry_.dtype));
    std::memcpy(out.data(), entry_.bytes.subspan(begin, out.size()).data(), out.size());  // std::copy goes byte by byte
  }
  void release(int64_t first, int64_t count) const override { file_.release(entry_, first, count); }
  const SafetensorsFile& file() const { return file_; }

 private:
  const SafetensorsFile& file_;
  const TensorEntry& entry_;
};

/// A file beside the index, never one elsewhere.
bool is_plain_name(const std::string& file) {
  return !file.empty() && file != "." && file.find("..") == file.npos && file.find('/') == file.npos &&
         file.find('\\') == file.npos && file.find('\0') == file.npos;
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& path) {
  const bool folder = fs::is_directory(path);
  const fs::path file = folder ? path / "model.safetensors" : path;
  const fs::path index = path / "model.safetensors.index.json";
  if (!folder || fs::exists(file)) {
    name_ = printable(file.string());
    add_tensors(files_.emplace_back(file));
    return;
  }
  check(fs::exists(index), "{} has neither model.safetensors nor model.safetensors.index.json; {}",
        printable(path.string()),
        fs::exists(path / "pytorch_model.bin") || fs::exists(path / "pytorch_model.bin.index.json")
            ? "convert its pytorch_model*.bin (transformers: save_pretrained)"
            : "check the path or download them");
  open_shards(index);
}

void WeightFiles::open_shards(const fs::path& index) {
  name_ = printable(index.string());
  const JsonObject weight_map = require_object(JsonObject::load(index), "weight_map");
  std::map<std::string, const SafetensorsFile*> shards;
  for (const auto& [tensor, shard] : weight_map.value().items()) {
    check(shard.is_string() && is_plain_name(shard.get_ref<const std::string&>()),
          "{}: the file of tensor {} must be a name in this folder, not {}; the index is damaged", name_,
          in_quotes(tensor, 120), printable(shard.dump(-1, ' ', true)));
    shards.emplace(shard.get<std::string>(), nullptr);
  }
  check(!shards.empty(), "{}: weight_map names no file; the index is damaged", name_);
  for (auto& [name, file] : shards) {
    const fs::path path = index.parent_path() / name;
    check(fs::exists(path), "{} names {}, which is missing; download it", name_, in_quotes(name, 120));
    add_tensors(*(file = &files_.emplace_back(path)));
  }
  for (const auto& [tensor, shard] : weight_map.value().items())
    check(shards.at(shard.get<std::string>())->find(tensor) != nullptr,
          "{} says that tensor {} is in {}, but it is not; download both again", name_, in_quotes(tensor, 120),
          in_quotes(shard.get_ref<const std::string&>(), 120));
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
