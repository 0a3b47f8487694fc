#pragma once
// Who may ask a server that listens on somebody's own machine: pages of other sites, which a browser there may show,
// may not, and who needs a key gives it.

#include <optional>

#include "tools/cli/serve/http_server.h"

namespace vkformer {

struct HttpRules {
  /// Names that a Host header may have, without a port: others are those of sites whose address was changed to this
  /// machine's (DNS rebinding). Empty: any, which only a key makes safe.
  std::vector<std::string> hosts;
  std::vector<std::string> origins;  ///< of pages that may ask beside the server's own, like "https://chat.example"
  std::string key;                   ///< "": none is needed
};

/// The reply to a request that goes no further: one that breaks a rule, or a browser's question whether it may ask.
std::optional<HttpReply> reply_at_the_door(const HttpRequest& request, const HttpRules& rules);

/// Adds what a reply must say for a page of an origin that may ask to see it.
void add_origin(HttpReply& reply, const HttpRequest& request, const HttpRules& rules);

/// Whether an address or name can be reached from this machine alone.
bool is_loopback(const std::string& host);
/// "chat.example" of "https://chat.example:8443".
std::string host_of(const std::string& origin);

}  // namespace vkformer
