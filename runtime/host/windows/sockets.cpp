#include "runtime/host/sockets.h"

#include <winsock2.h>
#include <ws2tcpip.h>

#include <cstring>

#include "runtime/check.h"
#include "runtime/host/windows/win32.h"

namespace vkformer::host {

SocketAddress listening_address(const std::string& host, uint16_t port, const std::string& what) {
  WSADATA started{};
  WSAStartup(MAKEWORD(2, 2), &started);
  const addrinfo wanted{.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  check(error == 0, "{}: no machine has this name or address", what);
  SocketAddress address{.bytes = std::vector<std::byte>(found->ai_addrlen), .is_v6 = found->ai_family == AF_INET6};
  std::memcpy(address.bytes.data(), found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

bool peer_left(intptr_t socket) {
  WSAPOLLFD state{.fd = static_cast<SOCKET>(socket), .events = POLLRDNORM, .revents = 0};
  if (WSAPoll(&state, 1, 0) <= 0) return false;
  if ((state.revents & (POLLHUP | POLLERR)) != 0) return true;
  char byte;
  return (state.revents & POLLRDNORM) != 0 && recv(state.fd, &byte, 1, MSG_PEEK) == 0;
}

void close_socket(intptr_t socket) { closesocket(static_cast<SOCKET>(socket)); }

std::string listening_error() {
  switch (WSAGetLastError()) {
    case WSAEADDRINUSE: return "Address already in use";
    case WSAEADDRNOTAVAIL: return "Cannot assign requested address";
    case WSAEACCES: return "Permission denied";
    default: return "unknown reason";
  }
}

}  // namespace vkformer::host
