#include "runtime/host/sockets.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/check.h"

namespace vkformer::host {

SocketAddress listening_address(const std::string& host, uint16_t port, const std::string& what) {
  const addrinfo wanted{.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  check(error == 0, "{}: {}", what, gai_strerror(error));
  SocketAddress address{.bytes = std::vector<std::byte>(found->ai_addrlen), .is_v6 = found->ai_family == AF_INET6};
  std::memcpy(address.bytes.data(), found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

void close_socket(intptr_t socket) { close(static_cast<int>(socket)); }

std::string listening_error() { return errno ? std::strerror(errno) : "unknown reason"; }

}  // namespace vkformer::host
