#include "runtime/host/sockets.h"

#include <poll.h>

namespace vkformer::host {

bool peer_left(intptr_t socket) {
  pollfd state{.fd = static_cast<int>(socket), .events = POLLRDHUP, .revents = 0};
  return poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace vkformer::host
