#include "models/data/token_sequence.h"

#include <algorithm>
#include <cstring>

#include "runtime/check.h"
#include "runtime/files/safetensors.h"

namespace vkformer {

namespace {

constexpr const char* ids_tensor = "ids";
constexpr const char* tokenizer_key = "tokenizer";

}  // namespace

TokenSequence::TokenSequence(std::vector<int32_t> ids) {
  const auto kept = std::make_shared<const std::vector<int32_t>>(std::move(ids));
  owner_ = kept;
  bytes_ = std::as_bytes(std::span(*kept));
}

TokenSequence::TokenSequence(std::shared_ptr<const MappedFile> file, const std::string& name) : owner_(file) {
  if (std::filesystem::path(name).extension() == ".bin") {
    check(file->bytes().size() % 2 == 0, "{}: ids of 16 bits end in the middle of one; is it a token file?", name);
    bytes_ = file->bytes();
    width_ = 2;
    return;
  }
  const SafetensorsFile tensors(file->bytes(), name);
  const TensorEntry& ids = tensors.require(ids_tensor);
  check((ids.dtype == FileDType::u16 || ids.dtype == FileDType::i32) && ids.shape.size() == 1,
        "{}: \"{}\" is no token file's; make one with: vkformer encode FOLDER TEXT --out FILE", name, ids_tensor);
  bytes_ = ids.bytes;
  width_ = static_cast<size_t>(size_of(ids.dtype));
  const auto& metadata = tensors.metadata();
  if (const auto found = metadata.find(tokenizer_key); found != metadata.end()) tokenizer_ = found->second;
}

bool TokenSequence::is_name(const std::filesystem::path& name) {
  return name.extension() == ".safetensors" || name.extension() == ".bin";
}

void TokenSequence::read(int64_t first, std::span<int32_t> out) const {
  const std::byte* from = bytes_.data() + static_cast<size_t>(first) * width_;
  if (width_ == sizeof(int32_t)) {
    std::memcpy(out.data(), from, out.size_bytes());
    return;
  }
  for (int32_t& id : out) {
    uint16_t narrow = 0;
    std::memcpy(&narrow, from, sizeof narrow);
    id = narrow;
    from += sizeof narrow;
  }
}

TokenSequence TokenSequence::part(int64_t first, int64_t count) const {
  TokenSequence part = *this;
  part.bytes_ = bytes_.subspan(static_cast<size_t>(first) * width_, static_cast<size_t>(count) * width_);
  return part;
}

void TokenSequence::in_parts(const std::function<void(std::span<const int32_t>)>& use) const {
  std::vector<int32_t> part(1 << 16);
  for (int64_t first = 0; first < size(); first += std::ssize(part)) {
    const std::span some =
        std::span(part).first(static_cast<size_t>(std::min<int64_t>(std::ssize(part), size() - first)));
    read(first, some);
    use(some);
  }
}

int64_t TokenSequence::largest_size() const {
  int64_t largest = -1;
  in_parts([&](std::span<const int32_t> ids) {
    const auto [least, most] = std::ranges::minmax(ids);
    check(least >= 0, "a token file has the id {}", least);
    largest = std::max<int64_t>(largest, most);
  });
  return largest + 1;
}

void write_tokens(const std::filesystem::path& file, std::span<const int32_t> ids, int64_t vocabulary,
                  const std::string& tokenizer) {
  const std::vector<int64_t> shape{std::ssize(ids)};
  const std::map<std::string, std::string> metadata{{tokenizer_key, tokenizer}};
  if (vocabulary > 1 << 16) return write_safetensors(file, {TensorSource::of(ids_tensor, shape, ids)}, metadata);
  const std::vector<uint16_t> narrow(ids.begin(), ids.end());
  write_safetensors(file, {{ids_tensor, FileDType::u16, shape, [&] { return std::as_bytes(std::span(narrow)); }}},
                    metadata);
}

}  // namespace vkformer
