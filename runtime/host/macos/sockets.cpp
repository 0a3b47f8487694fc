#include "runtime/host/sockets.h"

#include <sys/socket.h>

#include <cerrno>

namespace vkformer::host {

/// macOS has no POLLRDHUP. Where a peer sent something before it left, that is not seen until it is read.
bool peer_left(intptr_t socket) {
  char byte = 0;
  const ssize_t got = recv(static_cast<int>(socket), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace vkformer::host
