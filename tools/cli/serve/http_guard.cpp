#include "tools/cli/serve/http_guard.h"

#include <algorithm>
#include <cctype>

#include "runtime/files/utf8.h"
#include "tools/cli/serve/service.h"

namespace vkformer {

namespace {

/// "localhost:8080", "[::1]:8080" without the port.
std::string without_port(const std::string& host) {
  const size_t bracket = host.find(']');
  const size_t colon = host.find(':', bracket == host.npos ? 0 : bracket);
  return host.substr(0, colon);
}

/// The page was sent by this server, however a proxy calls the scheme.
bool is_own(const std::string& origin, const std::string& host) {
  const size_t slashes = origin.find("://");
  return slashes != origin.npos && origin.substr(slashes + 3) == host;
}

bool allowed(const std::string& origin, const HttpRules& rules) {
  return std::ranges::count(rules.origins, origin) > 0;
}

/// In a time that does not tell how much is right.
bool same(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(a[i] ^ (b.empty() ? '\0' : b[i % b.size()])) & 0xffU;
  return difference == 0;
}

/// The page itself and whether the server lives are no secrets.
bool needs_key(const HttpRequest& request) { return request.path != "/" && request.path != "/health"; }

bool has_key(const HttpRequest& request, const HttpRules& rules) {
  constexpr std::string_view scheme = "bearer ";
  if (same(request.header("x-api-key"), rules.key)) return true;  // as Anthropic's clients send it
  const std::string given = request.header("authorization");
  const auto equal = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return given.size() > scheme.size() && std::ranges::equal(given.substr(0, scheme.size()), scheme, equal) &&
         same(std::string_view(given).substr(scheme.size()), rules.key);
}

}  // namespace

std::optional<HttpReply> reply_at_the_door(const HttpRequest& request, const HttpRules& rules) {
  const std::string host = request.header("host"), origin = request.header("origin");
  if (!rules.hosts.empty() && std::ranges::count(rules.hosts, without_port(host)) == 0)
    return error_of(403, "the request is for the host " + in_quotes(host) + ", which this server is not");
  if (!origin.empty() && !is_own(origin, host) && !allowed(origin, rules))
    return error_of(403, "pages of " + in_quotes(origin) + " may not ask; --allow-origin lets them");
  if (request.method == "OPTIONS") {
    HttpReply reply{.status = 204};
    reply.headers = {{"Access-Control-Allow-Methods", "GET, POST"},
                     {"Access-Control-Allow-Headers", request.header("access-control-request-headers")},
                     {"Access-Control-Max-Age", "600"}};
    return reply;
  }
  if (!rules.key.empty() && needs_key(request) && !has_key(request, rules)) {
    HttpReply reply = error_of(401, "the key is missing or wrong; send it as \"Authorization: Bearer KEY\"");
    reply.headers = {{"WWW-Authenticate", "Bearer"}};
    return reply;
  }
  // A form comes from a page of another site without a browser's question, but with its origin, which was looked at.
  if (asks_with_form(request)) {
    if (request.header("content-type").starts_with("multipart/form-data")) return std::nullopt;
    return error_of(415, "send a form with the audio file, as curl -F does (\"Content-Type: multipart/form-data\")");
  }
  // Other types come so from anywhere, too; this one never.
  if (request.method == "POST" && !request.header("content-type").starts_with("application/json"))
    return error_of(415, "send JSON, with the header \"Content-Type: application/json\"");
  return std::nullopt;
}

void add_origin(HttpReply& reply, const HttpRequest& request, const HttpRules& rules) {
  const std::string origin = request.header("origin");
  if (!allowed(origin, rules)) return;
  reply.headers.emplace_back("Access-Control-Allow-Origin", origin);
  reply.headers.emplace_back("Vary", "Origin");
}

bool is_loopback(const std::string& host) {
  const bool number = host.find_first_not_of("0123456789.") == host.npos;
  return host == "localhost" || host == "::1" || (number && host.starts_with("127."));
}

std::string host_of(const std::string& origin) {
  const size_t slashes = origin.find("://");
  return without_port(slashes == origin.npos ? origin : origin.substr(slashes + 3));
}

}  // namespace vkformer
