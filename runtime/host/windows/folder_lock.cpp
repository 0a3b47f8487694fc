#include "runtime/host/folder_lock.h"

#include <cerrno>

#include "runtime/host/windows/win32.h"

namespace vkformer::host {

namespace {

/// The same for every path that leads to this folder.
std::wstring name_of(const Handle& folder) {
  BY_HANDLE_FILE_INFORMATION facts{};
  if (!folder || !GetFileInformationByHandle(handle_of(folder), &facts)) return {};
  std::wstring name = L"Global\\vkformer";
  for (const DWORD part : {facts.dwVolumeSerialNumber, facts.nFileIndexHigh, facts.nFileIndexLow})
    name += L'-' + std::to_wstring(part);
  return name;
}

}  // namespace

// A file in the folder would have to be told from what a run has. The name of a mutex is taken as long as a process has
// it open, by whatever user of this machine; of another machine, in a folder that both share, nothing is known.
int FolderLock::take(const std::filesystem::path& folder) {
  folder_ = open_file(folder, FILE_READ_ATTRIBUTES);
  const std::wstring name = name_of(folder_);
  if (name.empty()) return last_error();
  const HANDLE mutex = CreateMutexW(nullptr, FALSE, name.c_str());
  const DWORD error = GetLastError();
  if (mutex != nullptr) taken_ = Handle(reinterpret_cast<intptr_t>(mutex));
  if (error != ERROR_ALREADY_EXISTS && error != ERROR_ACCESS_DENIED) return 0;
  taken_.close();
  return EWOULDBLOCK;
}

bool FolderLock::is_at(const std::filesystem::path& folder) const {
  const std::wstring name = name_of(folder_);
  return !name.empty() && name == name_of(open_file(folder, FILE_READ_ATTRIBUTES));
}

}  // namespace vkformer::host
