#include "runtime/host/mapping.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "runtime/host/posix/open.h"

namespace vkformer::host {

Mapping map_file(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const Handle file = open_file(path, O_RDONLY | O_NONBLOCK);  // a mapping outlives it
  if (!file) return {.error = errno};
  struct stat status {};
  if (::fstat(descriptor_of(file), &status) != 0) return {.error = errno};
  if (!S_ISREG(status.st_mode)) return {.kind = S_ISDIR(status.st_mode) ? FileKind::folder : FileKind::other};
  if (status.st_size <= 0) return {};
  if (std::cmp_greater(status.st_size, SIZE_MAX / 2)) return {.error = ENOMEM};
  const auto size = static_cast<size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_of(file), 0);
  if (address == MAP_FAILED) return {.error = errno};
  ::madvise(address, size, MADV_SEQUENTIAL);
  return {.bytes = {static_cast<const std::byte*>(address), size}};
}

void unmap(std::span<const std::byte> bytes) {
  if (!bytes.empty()) ::munmap(const_cast<std::byte*>(bytes.data()), bytes.size());
}

void release(std::span<const std::byte> bytes, std::span<const std::byte> part) {
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  // Reading a page also maps its neighbours, on Linux up to the next multiples of 64 KiB: those before `part` go again.
  const uintptr_t window = std::max<uintptr_t>(page, 64 << 10);
  const uintptr_t start = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = std::max(start, reinterpret_cast<uintptr_t>(part.data()) / window * window);
  const uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace vkformer::host
