// The calls that open, read, write, name and look at files, and a count of what they open.

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <initializer_list>

#include "tests/faults/faults.h"

namespace {

using faults::given_back;
using faults::made;
using enum faults::Kind;
using Ways = std::initializer_list<faults::Kind>;

int error_of(faults::Kind kind) {
  switch (kind) {
    case disk_full: return ENOSPC;
    case interrupted: return EINTR;
    case allocation: return ENOMEM;
    default: return EIO;
  }
}

/// Whether the call must fail in one of these ways. All count; errno is set.
bool fails(const char* call, Ways ways) {
  int error = 0;
  for (const faults::Kind way : ways)
    if (faults::strikes(way, call) && error == 0) error = error_of(way);
  if (error != 0) errno = error;
  return error != 0;
}

/// What a call may move of `bytes`.
size_t shortened(faults::Kind way, const char* call, size_t bytes) {
  return bytes > 1 && faults::strikes(way, call) ? 1 : bytes;
}

constexpr Ways look_ways = {io_error}, read_ways = {io_error, interrupted}, name_ways = {io_error, disk_full},
               write_ways = {io_error, interrupted, disk_full};

bool writes(const char* mode) { return mode[0] != 'r'; }

}  // namespace

#define NEXT(name) static const auto next = faults::next<decltype(&name)>(#name)
/// A call that may fail in these ways, and then gives `failed`.
#define MAY_FAIL(Result, failed, name, parameters, ways, ...)               \
  Result name parameters {                                                  \
    NEXT(name);                                                             \
    return CALLED_BY_US && fails(#name, ways) ? failed : next(__VA_ARGS__); \
  }

extern "C" {

int open(const char* path, int flags, ...) {
  NEXT(open);
  va_list more;
  va_start(more, flags);
  const auto mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (!CALLED_BY_US) return next(path, flags, mode);
  if (fails("open", flags & O_CREAT ? write_ways : read_ways)) return -1;
  const int file = next(path, flags, mode);
  if (file >= 0) made("descriptor");
  return file;
}

// Of folders.
int openat(int folder, const char* path, int flags, ...) {
  NEXT(openat);
  va_list more;
  va_start(more, flags);
  const auto mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (!CALLED_BY_US) return next(folder, path, flags, mode);
  if (fails("openat", look_ways)) return -1;
  const int file = next(folder, path, flags, mode);
  if (file >= 0) made("descriptor");
  return file;
}

int close(int file) {
  NEXT(close);
  if (CALLED_BY_US && file >= 0) given_back("descriptor");
  return next(file);
}

DIR* fdopendir(int folder) {
  NEXT(fdopendir);
  if (!CALLED_BY_US) return next(folder);
  if (fails("fdopendir", look_ways)) return nullptr;
  DIR* opened = next(folder);
  if (opened) given_back("descriptor"), made("folder");
  return opened;
}

int closedir(DIR* folder) {
  NEXT(closedir);
  if (CALLED_BY_US) given_back("folder");
  return next(folder);
}

FILE* fopen64(const char* path, const char* mode) {
  NEXT(fopen64);
  if (!CALLED_BY_US) return next(path, mode);
  if (fails("fopen", writes(mode) ? name_ways : look_ways)) return nullptr;
  FILE* stream = next(path, mode);
  if (stream) made("stream");
  return stream;
}

FILE* fopen(const char* path, const char* mode) {
  NEXT(fopen);
  if (!CALLED_BY_US) return next(path, mode);
  if (fails("fopen", writes(mode) ? name_ways : look_ways)) return nullptr;
  FILE* stream = next(path, mode);
  if (stream) made("stream");
  return stream;
}

int fclose(FILE* stream) {
  NEXT(fclose);
  if (CALLED_BY_US) given_back("stream");
  return next(stream);
}

ssize_t read(int file, void* to, size_t bytes) {
  NEXT(read);
  if (!CALLED_BY_US) return next(file, to, bytes);
  if (fails("read", read_ways)) return -1;
  return next(file, to, shortened(short_read, "read", bytes));
}

ssize_t write(int file, const void* from, size_t bytes) {
  NEXT(write);
  if (!CALLED_BY_US) return next(file, from, bytes);
  if (fails("write", write_ways)) return -1;
  return next(file, from, shortened(short_write, "write", bytes));
}

ssize_t writev(int file, const iovec* parts, int count) {
  NEXT(writev);
  if (!CALLED_BY_US) return next(file, parts, count);
  if (fails("writev", write_ways)) return -1;
  const iovec first{parts->iov_base, 1};
  const bool some = count > 0 && parts->iov_len > 0 && faults::strikes(short_write, "writev");
  return some ? next(file, &first, 1) : next(file, parts, count);
}

ssize_t sendfile(int to, int from, off_t* offset, size_t bytes) noexcept {
  NEXT(sendfile);
  if (!CALLED_BY_US) return next(to, from, offset, bytes);
  if (fails("sendfile", name_ways)) return -1;
  return next(to, from, offset, shortened(short_write, "sendfile", bytes));
}

// Of what people read only standard output: results are printed there.
size_t fwrite(const void* from, size_t size, size_t count, FILE* stream) {
  NEXT(fwrite);
  if (stream == stdout && CALLED_BY_US && fails("fwrite", name_ways)) return 0;
  return next(from, size, count, stream);
}

int fflush(FILE* stream) {
  NEXT(fflush);
  if (stream == stdout && CALLED_BY_US && fails("fflush", name_ways)) return EOF;
  return next(stream);
}

void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  NEXT(mmap);
  if (file < 0 || !CALLED_BY_US) return next(at, bytes, protection, flags, file, offset);
  if (fails("mmap", {allocation})) return MAP_FAILED;
  void* memory = next(at, bytes, protection, flags, file, offset);
  if (memory != MAP_FAILED) made("mapping");
  return memory;
}

int munmap(void* at, size_t bytes) noexcept {
  NEXT(munmap);
  if (CALLED_BY_US) given_back("mapping");
  return next(at, bytes);
}

MAY_FAIL(int, -1, fsync, (int file), write_ways, file)
MAY_FAIL(int, -1, rename, (const char* from, const char* to) noexcept, name_ways, from, to)
MAY_FAIL(int, -1, mkdir, (const char* path, mode_t mode) noexcept, name_ways, path, mode)
MAY_FAIL(int, -1, unlink, (const char* path) noexcept, look_ways, path)
MAY_FAIL(int, -1, unlinkat, (int folder, const char* path, int flags) noexcept, look_ways, folder, path, flags)
MAY_FAIL(int, -1, remove, (const char* path) noexcept, look_ways, path)
MAY_FAIL(int, -1, fchmod, (int file, mode_t mode) noexcept, look_ways, file, mode)
MAY_FAIL(int, -1, stat, (const char* path, struct stat* status) noexcept, look_ways, path, status)
MAY_FAIL(int, -1, lstat, (const char* path, struct stat* status) noexcept, look_ways, path, status)
MAY_FAIL(int, -1, fstat, (int file, struct stat* status) noexcept, look_ways, file, status)
MAY_FAIL(int, -1, fstat64, (int file, struct stat64* status) noexcept, look_ways, file, status)
MAY_FAIL(dirent*, nullptr, readdir, (DIR * folder), look_ways, folder)

}  // extern "C"
