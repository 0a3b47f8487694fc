#pragma once
// What serving needs of sockets that its library does not give.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vkformer::host {

struct SocketAddress {
  std::vector<std::byte> bytes;  ///< a sockaddr
  bool is_v6 = false;
};

/// The address to listen at that a name or a number stands for. Throws Error, which begins with `what`, where it stands
/// for none.
SocketAddress listening_address(const std::string& host, uint16_t port, const std::string& what);

/// Whether whoever is at the other end has gone.
bool peer_left(intptr_t socket);

void close_socket(intptr_t socket);

/// Why the last call that listens failed.
std::string listening_error();

}  // namespace vkformer::host
