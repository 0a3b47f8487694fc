#include "runtime/files/zip_entries.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

constexpr uint32_t end_mark = 0x06054b50, end64_mark = 0x06064b50, locator_mark = 0x07064b50, entry_mark = 0x02014b50,
                   file_mark = 0x04034b50;
constexpr uint64_t end_size = 22, end64_size = 56, locator_size = 20, entry_size = 46, file_size = 30;
/// A comment may follow the end of the directory.
constexpr uint64_t longest_comment = 0xFFFF;
constexpr uint16_t zip64_field = 1;

/// Numbers in the archive, little-endian and anywhere.
class Archive {
 public:
  Archive(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> part(uint64_t at, uint64_t count) const {
    check(at <= bytes_.size() && count <= bytes_.size() - at,
          "{}: the archive names bytes from {} on, it has {}; it is cut short, download it again", name_, at,
          bytes_.size());
    return bytes_.subspan(at, count);
  }
  template <class Number>
  Number number(uint64_t at) const {
    Number value;
    std::memcpy(&value, part(at, sizeof value).data(), sizeof value);
    return value;
  }
  std::string text(uint64_t at, uint64_t count) const {
    const auto bytes = part(at, count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <class... Args>
  void require(bool holds, CheckFormat<std::type_identity_t<Args>...> what, Args&&... args) const {
    if (!holds) fail("{}: {}", name_, fmt::format(what.text, std::forward<Args>(args)...));
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
};

/// Where the directory lies, and of how many files.
struct Directory {
  uint64_t at = 0, files = 0;
};

Directory find_directory(const Archive& archive) {
  std::optional<uint64_t> end;
  const uint64_t last = archive.size() < end_size ? 0 : archive.size() - end_size;
  for (uint64_t back = 0; !end && back <= std::min(last, longest_comment) && archive.size() >= end_size; ++back)
    if (archive.number<uint32_t>(last - back) == end_mark) end = last - back;
  archive.require(end.has_value(),
                  "it has no directory, with which an archive ends; it is cut short, download it again");
  Directory directory{.at = archive.number<uint32_t>(*end + 16), .files = archive.number<uint16_t>(*end + 10)};
  if (*end < locator_size || archive.number<uint32_t>(*end - locator_size) != locator_mark) return directory;
  const auto end64 = archive.number<uint64_t>(*end - locator_size + 8);
  archive.part(end64, end64_size);
  archive.require(archive.number<uint32_t>(end64) == end64_mark, "the end of its directory is damaged");
  return {.at = archive.number<uint64_t>(end64 + 48), .files = archive.number<uint64_t>(end64 + 32)};
}

/// What a directory says of one file.
struct Entry {
  uint64_t compressed = 0, size = 0, at = 0;
};

/// Numbers of 32 bits that are all ones stand, in their order, in a field of 64-bit ones.
Entry read_entry(const Archive& archive, uint64_t at, uint64_t extra, uint64_t extra_size) {
  Entry entry{.compressed = archive.number<uint32_t>(at + 20),
              .size = archive.number<uint32_t>(at + 24),
              .at = archive.number<uint32_t>(at + 42)};
  for (uint64_t field = extra; field + 4 <= extra + extra_size;) {
    const uint64_t size = archive.number<uint16_t>(field + 2);
    if (archive.number<uint16_t>(field) == zip64_field) {
      uint64_t next = field + 4;
      for (uint64_t* number : {&entry.size, &entry.compressed, &entry.at}) {
        if (*number != UINT32_MAX) continue;
        archive.require(next + 8 <= field + 4 + size, "its directory has a damaged zip64 field");
        *number = archive.number<uint64_t>(next);
        next += 8;
      }
      break;
    }
    field += 4 + size;
  }
  return entry;
}

}  // namespace

std::map<std::string, std::span<const std::byte>, std::less<>> zip_entries(std::span<const std::byte> bytes,
                                                                           const std::string& name) {
  const Archive archive(bytes, name);
  const Directory directory = find_directory(archive);
  std::map<std::string, std::span<const std::byte>, std::less<>> entries;
  uint64_t at = directory.at;
  // Each takes bytes of the archive, so that a wrong number of files ends at its end.
  for (uint64_t i = 0; i < directory.files; ++i) {
    archive.part(at, entry_size);
    archive.require(archive.number<uint32_t>(at) == entry_mark, "its directory is damaged at file {}", i);
    const uint64_t name_size = archive.number<uint16_t>(at + 28), extra_size = archive.number<uint16_t>(at + 30),
                   comment_size = archive.number<uint16_t>(at + 32);
    const std::string file = archive.text(at + entry_size, name_size);
    const Entry entry = read_entry(archive, at, at + entry_size + name_size, extra_size);
    archive.require((archive.number<uint16_t>(at + 8) & 1) == 0, "its {} is encrypted", in_quotes(file));
    archive.require(archive.number<uint16_t>(at + 10) == 0 && entry.compressed == entry.size,
                    "its {} is compressed, as PyTorch never does it; save it again with torch.save", in_quotes(file));
    archive.part(entry.at, file_size);
    archive.require(archive.number<uint32_t>(entry.at) == file_mark, "its {} is not where the directory says",
                    in_quotes(file));
    const uint64_t data =
        entry.at + file_size + archive.number<uint16_t>(entry.at + 26) + archive.number<uint16_t>(entry.at + 28);
    archive.require(entries.emplace(file, archive.part(data, entry.size)).second, "it has {} twice", in_quotes(file));
    at += entry_size + name_size + extra_size + comment_size;
  }
  return entries;
}

}  // namespace vkformer
