#pragma once
// HTTP/1.1 by libmicrohttpd, a thread a connection. Knows nothing of models.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/serving/form_field.h"

namespace vkformer {

struct HttpRequest {
  std::string method, path;                    ///< the path without what stands behind a "?"
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
  /// In place of a body of multipart/form-data that was read to its end.
  std::optional<std::vector<FormField>> form = {};
  /// Whether the client went away since.
  std::function<bool()> gone;

  /// "" where there is none.
  std::string header(const std::string& name) const;
};

struct HttpReply {
  int status = 200;
  std::string type = "application/json", body;
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// What follows the body, until it gives nothing: called by the connection's thread, where it may wait. The reply is
  /// sent in chunks then.
  std::function<std::string()> next = {};
  /// Once nothing more is sent, to whom ever.
  std::function<void()> ended = {};
};

struct HttpSettings {
  std::string host = "127.0.0.1";       ///< address to listen at: a name or a number
  uint16_t port = 8080;                 ///< 0: any that is free
  size_t most_connections = 64;         ///< more are closed
  size_t most_body = size_t{16} << 20;  ///< bytes
  unsigned seconds = 60;  ///< without a byte, after which a connection is closed; and for all of a request's body
};

class HttpServer {
 public:
  // Called by connections' threads, several at a time. Neither throws.
  /// The reply to a request of which nothing but the headers shall be read, nothing for others.
  using Door = std::function<std::optional<HttpReply>(const HttpRequest&)>;
  using Handler = std::function<HttpReply(const HttpRequest&)>;
  /// From now on it listens. Throws Error where it can't, with why.
  HttpServer(const HttpSettings& settings, Door door, Handler handler);
  /// Takes nothing more, and lets replies go for a moment. Waits for the handler and for what sends: whoever lets them
  /// wait must have let them go.
  ~HttpServer();
  uint16_t port() const;

 private:
  struct Daemon;
  std::unique_ptr<Daemon> daemon_;
};

}  // namespace vkformer
