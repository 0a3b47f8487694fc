#include <charconv>
#include <numeric>
#include <optional>

#include "runtime/check.h"
#include "runtime/files/gguf.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

/// "x-00002-of-00003.gguf" is shard 2 of 3 of "x".
struct ShardName {
  std::string stem;
  int number = 0, count = 0;

  static std::optional<ShardName> parse(std::string_view file) {
    constexpr std::string_view pattern = "-00000-of-00000.gguf";
    if (file.size() <= pattern.size()) return std::nullopt;
    const std::string_view end = file.substr(file.size() - pattern.size());
    ShardName name{.stem = std::string(file.substr(0, file.size() - pattern.size()))};
    const auto digits = [&](size_t at, int& value) {
      const auto [stop, error] = std::from_chars(end.data() + at, end.data() + at + 5, value);
      return error == std::errc() && stop == end.data() + at + 5;
    };
    const bool is_shard = end[0] == '-' && end.substr(6, 4) == "-of-" && end.substr(15) == ".gguf" &&
                          digits(1, name.number) && digits(10, name.count);
    return is_shard && name.number >= 1 && name.number <= name.count ? std::optional(name) : std::nullopt;
  }
  std::string file(int i) const { return fmt::format("{}-{:05}-of-{:05}.gguf", stem, i, count); }
};

}  // namespace

GgufShards::GgufShards(const std::filesystem::path& path) {
  const auto shard = ShardName::parse(path.filename().generic_string());
  if (!shard) {
    add_tensors(files_.emplace_back(path));
    const int64_t count = metadata().integer_or("split.count", 0, 0, UINT16_MAX);
    check(count <= 1,
          "{}: it is one of {} files, but its name does not say which; name it as it was, ...-00001-of-{:05}.gguf",
          name(), count, count);
    return;
  }
  for (int i = 1; i <= shard->count; ++i) {
    const GgufFile& file = files_.emplace_back(path.parent_path() / shard->file(i));
    check(file.metadata().integer("split.no", 0, UINT16_MAX) == i - 1 &&
              file.metadata().integer("split.count", 0, UINT16_MAX) == shard->count,
          "{}: split.no and split.count do not say that it is file {} of {}; download it again", file.name(), i,
          shard->count);
    add_tensors(file);
  }
  const int64_t all = metadata().integer_or("split.tensors.count", std::ssize(tensors_), 0, INT64_MAX);
  check(all == std::ssize(tensors_), "{}: split.tensors.count is {}, the files have {} tensors; download them again",
        name(), all, tensors_.size());
}

void GgufShards::add_tensors(const GgufFile& file) {
  for (const GgufTensor& entry : file.tensors()) {
    const auto [known, is_new] = index_.emplace(entry.name, tensors_.size());
    if (!is_new)
      fail("tensor {} is both in {} and in {}; remove one of them", in_quotes(entry.name, 120),
           tensors_[known->second].file->name(), file.name());
    tensors_.push_back({&file, &entry});
  }
}

const GgufShards::Tensor* GgufShards::find(std::string_view tensor) const {
  const auto known = index_.find(tensor);
  return known == index_.end() ? nullptr : &tensors_[known->second];
}

uint64_t GgufShards::bytes() const {
  return std::accumulate(files_.begin(), files_.end(), uint64_t{0},
                         [](uint64_t sum, const GgufFile& file) { return sum + file.bytes(); });
}

}  // namespace vkformer
