#include "runtime/files/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <system_error>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/descriptor.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

std::string_view advice(int error) {
  if (error == ENOENT || error == ENOTDIR) return "check the path";
  if (error == EACCES || error == EPERM) return "check its permissions";
  if (error == ENOMEM) return "there is no room for it in the address space";
  return "copy it to another disk and try again";
}

[[noreturn]] void cannot_read(const std::filesystem::path& path, int error) {
  fail("cannot read {}: {}; {}", printable(path.string()), std::generic_category().message(error), advice(error));
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const Descriptor file(path, O_NONBLOCK);  // a mapping outlives it
  if (!file) cannot_read(path, errno);
  struct stat status {};
  if (::fstat(file.value(), &status) != 0) cannot_read(path, errno);
  check(!S_ISDIR(status.st_mode), "cannot read {}: it is a folder; name a file in it", printable(path.string()));
  check(S_ISREG(status.st_mode), "cannot read {}: it is not a regular file; copy its content to a file first",
        printable(path.string()));
  check(status.st_size > 0, "cannot read {}: it is empty; write or download it again", printable(path.string()));
  if (std::cmp_greater(status.st_size, SIZE_MAX / 2)) cannot_read(path, ENOMEM);
  const auto size = static_cast<size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value(), 0);
  if (address == MAP_FAILED) cannot_read(path, errno);
  ::madvise(address, size, MADV_SEQUENTIAL);
  bytes_ = {static_cast<const std::byte*>(address), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void MappedFile::release(std::span<const std::byte> part) const {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Reading a page also maps its neighbours, on Linux up to the next multiples of 64 KiB: those before `part` go again.
  const uintptr_t window = std::max<uintptr_t>(page, 64 << 10);
  const uintptr_t start = reinterpret_cast<uintptr_t>(bytes_.data());
  const uintptr_t begin = std::max(start, reinterpret_cast<uintptr_t>(part.data()) / window * window);
  const uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace vkformer
