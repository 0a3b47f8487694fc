#include "runtime/host/mapping.h"

#include <algorithm>
#include <cerrno>

#include "runtime/host/windows/win32.h"

namespace vkformer::host {

namespace {

/// Windows replaces no file that is mapped. Settings, and what tells which checkpoint is the latest, are replaced while
/// others read them; so small files are read.
constexpr uint64_t largest_read = 1 << 20;

Mapping read_file(const Handle& file, DWORD size) {
  auto* memory = static_cast<std::byte*>(VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  if (memory == nullptr) return {.error = ENOMEM};
  DWORD done = 0, got = 0;
  while (done < size && ReadFile(handle_of(file), memory + done, size - done, &got, nullptr) && got > 0) done += got;
  if (done == size) return {.bytes = {memory, size}};
  const int error = last_error();
  VirtualFree(memory, 0, MEM_RELEASE);
  return {.error = error};
}

}  // namespace

Mapping map_file(const std::filesystem::path& path) {
  const Handle file = open_file(path, GENERIC_READ, OPEN_EXISTING, FILE_FLAG_SEQUENTIAL_SCAN);
  if (!file) return {.error = last_error()};
  if (GetFileType(handle_of(file)) != FILE_TYPE_DISK) return {.kind = FileKind::other};
  BY_HANDLE_FILE_INFORMATION facts{};
  if (!GetFileInformationByHandle(handle_of(file), &facts)) return {.error = last_error()};
  if ((facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return {.kind = FileKind::folder};
  const uint64_t size = uint64_t{facts.nFileSizeHigh} << 32 | facts.nFileSizeLow;
  if (size == 0) return {};
  if (size <= largest_read) return read_file(file, static_cast<DWORD>(size));
  const HANDLE mapping = CreateFileMappingW(handle_of(file), nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) return {.error = last_error()};
  const Handle until_mapped(reinterpret_cast<intptr_t>(mapping));
  const void* address = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, static_cast<size_t>(size));
  if (address == nullptr) return {.error = last_error()};
  return {.bytes = {static_cast<const std::byte*>(address), static_cast<size_t>(size)}};
}

void unmap(std::span<const std::byte> bytes) {
  if (bytes.size() > largest_read)
    UnmapViewOfFile(bytes.data());
  else if (!bytes.empty())
    VirtualFree(const_cast<std::byte*>(bytes.data()), 0, MEM_RELEASE);
}

void release(std::span<const std::byte> bytes, std::span<const std::byte> part) {
  // Of what is not locked it takes the pages out of the working set.
  if (bytes.size() > largest_read && !part.empty()) VirtualUnlock(const_cast<std::byte*>(part.data()), part.size());
}

}  // namespace vkformer::host
