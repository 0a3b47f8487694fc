#include "runtime/host/windows/win32.h"

#include <cerrno>
#include <system_error>

namespace vkformer::host {

Handle open_file(const std::filesystem::path& path, DWORD access, DWORD creation, DWORD flags) {
  constexpr DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  return Handle(reinterpret_cast<intptr_t>(
      CreateFileW(path.c_str(), access, shared, nullptr, creation, flags | FILE_FLAG_BACKUP_SEMANTICS, nullptr)));
}

int errno_of(DWORD error) {
  // Others have it open.
  if (error == ERROR_SHARING_VIOLATION || error == ERROR_LOCK_VIOLATION || error == ERROR_USER_MAPPED_FILE)
    return EBUSY;
  const auto condition = std::system_category().default_error_condition(static_cast<int>(error));
  return condition.category() == std::generic_category() ? condition.value() : EIO;
}

std::string utf8_of(std::wstring_view text) {
  const auto length = static_cast<int>(text.size());
  std::string bytes(text.size() * 3, '\0');
  const int size = WideCharToMultiByte(CP_UTF8, 0, text.data(), length, bytes.data(), static_cast<int>(bytes.size()),
                                       nullptr, nullptr);
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

}  // namespace vkformer::host
