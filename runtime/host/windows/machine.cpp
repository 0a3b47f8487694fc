#include "runtime/host/machine.h"

#include <cstdlib>
#include <iterator>

#include "runtime/host/windows/win32.h"

namespace vkformer::host {

std::string machine_name() {
  wchar_t name[256];
  auto length = static_cast<DWORD>(std::size(name));
  return GetComputerNameExW(ComputerNameDnsHostname, name, &length) ? utf8_of({name, length})
                                                                    : "a machine without a name";
}

uint64_t available_memory() {
  MEMORYSTATUSEX status{.dwLength = sizeof status};
  return GlobalMemoryStatusEx(&status) ? status.ullAvailPhys : UINT64_MAX;
}

std::filesystem::path cache_folder() {
  if (const wchar_t* local = _wgetenv(L"LOCALAPPDATA"); local && *local) return local;
  return {};
}

int64_t process_id() { return GetCurrentProcessId(); }

std::tm local_time(std::time_t time) {
  std::tm local{};
  localtime_s(&local, &time);
  return local;
}

bool set_variable(const char* name, const char* value) { return _putenv_s(name, value) == 0; }

}  // namespace vkformer::host
