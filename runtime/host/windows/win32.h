#pragma once
// Windows' own calls. Included by this folder's sources alone: it brings many macros.

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <psapi.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "runtime/host/handle.h"

namespace vkformer::host {

inline HANDLE handle_of(const Handle& handle) { return reinterpret_cast<HANDLE>(handle.value()); }

/// What CreateFileW opens: others may read, write, move and remove it meanwhile, and folders can be opened, too. None
/// where it fails: last_error() tells.
Handle open_file(const std::filesystem::path& path, DWORD access, DWORD creation = OPEN_EXISTING, DWORD flags = 0);

/// One of Windows' errors as a number of errno's.
int errno_of(DWORD error);
inline int last_error() { return errno_of(GetLastError()); }

std::string utf8_of(std::wstring_view text);

}  // namespace vkformer::host
