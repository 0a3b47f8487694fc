#include "runtime/host/handle.h"

#include "runtime/host/windows/win32.h"

namespace vkformer::host {

void Handle::close() noexcept {
  if (value_ != -1) CloseHandle(reinterpret_cast<HANDLE>(std::exchange(value_, -1)));
}

}  // namespace vkformer::host
