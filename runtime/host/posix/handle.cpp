#include "runtime/host/handle.h"

#include <unistd.h>

namespace vkformer::host {

void Handle::close() noexcept {
  if (value_ != -1) ::close(static_cast<int>(std::exchange(value_, -1)));
}

}  // namespace vkformer::host
