#include "runtime/host/files.h"

#include <algorithm>
#include <cerrno>

#include "runtime/host/windows/win32.h"

namespace vkformer::host {

namespace {

/// What moves a file that was just written: programs that look into all new files (virus scanners, indexers) have it
/// open for a moment, and then Windows refuses.
template <class Move>
int until_nobody_looks(const Move& move) {
  constexpr DWORD pause = 10, longest = 2000;  // milliseconds
  for (DWORD waited = 0;; waited += pause) {
    if (move()) return 0;
    const DWORD error = GetLastError();
    if ((error != ERROR_ACCESS_DENIED && error != ERROR_SHARING_VIOLATION) || waited >= longest) return errno_of(error);
    Sleep(pause);
  }
}

}  // namespace

int NewFile::create(const std::filesystem::path& path) {
  path_ = path;
  file_ = open_file(path_, GENERIC_WRITE, CREATE_NEW);
  return file_ ? 0 : last_error();
}

int NewFile::write(std::span<const std::byte> bytes) {
  constexpr size_t largest = size_t{1} << 30;
  while (!bytes.empty()) {
    DWORD done = 0;
    const auto size = static_cast<DWORD>(std::min(bytes.size(), largest));
    if (!WriteFile(handle_of(file_), bytes.data(), size, &done, nullptr)) return last_error();
    if (done == 0) return EIO;
    bytes = bytes.subspan(done);
  }
  return 0;
}

int NewFile::move_to(const std::filesystem::path& target) {
  if (!FlushFileBuffers(handle_of(file_))) return last_error();
  file_.close();  // what is open can't be moved
  const int error = host::rename(path_, target);
  if (error != 0) DeleteFileW(path_.c_str());
  return error;
}

void NewFile::discard() noexcept {
  if (!file_) return;
  file_.close();
  DeleteFileW(path_.c_str());
}

int sync(const std::filesystem::path& path) {
  const DWORD attributes = GetFileAttributesW(path.c_str());
  if (attributes == INVALID_FILE_ATTRIBUTES) return last_error();
  // Names have a journal on the disk, and what moves them here waits for that.
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return 0;
  const Handle file = open_file(path, GENERIC_WRITE);
  return file && FlushFileBuffers(handle_of(file)) ? 0 : last_error();
}

int rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return until_nobody_looks(
      [&] { return MoveFileExW(from.c_str(), to.c_str(), MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH); });
}

bool is_full(int error) { return error == ENOSPC; }

bool is_held(const std::error_code& error) {
  return error == std::errc::permission_denied || error == std::errc::device_or_resource_busy;
}

int open_error(const std::filesystem::path& path) {
  return open_file(path, GENERIC_READ | GENERIC_WRITE) ? 0 : last_error();
}

std::optional<FileTimes> file_times(const std::filesystem::path& path) {
  const Handle file = open_file(path, FILE_READ_ATTRIBUTES);
  FILE_BASIC_INFO facts{};
  if (!file || !GetFileInformationByHandleEx(handle_of(file), FileBasicInfo, &facts, sizeof facts)) return std::nullopt;
  constexpr int64_t year_1970 = 116'444'736'000'000'000, nanoseconds = 100;  // Windows counts from 1601
  return FileTimes{(facts.LastWriteTime.QuadPart - year_1970) * nanoseconds,
                   (facts.ChangeTime.QuadPart - year_1970) * nanoseconds};
}

}  // namespace vkformer::host
