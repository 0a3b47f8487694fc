#include "runtime/files/mapped_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/host/mapping.h"

namespace vkformer {
namespace {

std::string_view advice(int error) {
  if (error == ENOENT || error == ENOTDIR) return "check the path";
  if (error == EACCES || error == EPERM) return "check its permissions";
  if (error == ENOMEM) return "there is no room for it in the address space";
  return "copy it to another disk and try again";
}

[[noreturn]] void cannot_read(const std::filesystem::path& path, int error) {
  fail("cannot read {}: {}; {}", printable(path.generic_string()), std::generic_category().message(error),
       advice(error));
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const host::Mapping mapping = host::map_file(path);
  if (mapping.error != 0) cannot_read(path, mapping.error);
  check(mapping.kind != host::FileKind::folder, "cannot read {}: it is a folder; name a file in it",
        printable(path.generic_string()));
  check(mapping.kind == host::FileKind::regular,
        "cannot read {}: it is not a regular file; copy its content to a file first", printable(path.generic_string()));
  check(!mapping.bytes.empty(), "cannot read {}: it is empty; write or download it again",
        printable(path.generic_string()));
  bytes_ = mapping.bytes;
}

MappedFile::~MappedFile() { host::unmap(bytes_); }

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::release(std::span<const std::byte> part) const { host::release(bytes_, part); }

}  // namespace vkformer
