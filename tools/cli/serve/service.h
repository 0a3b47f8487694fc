#pragma once
// What a server answers, and the work for that.

#include <functional>
#include <optional>

#include "tools/cli/serve/http_server.h"

namespace vkformer {

class Service {
 public:
  virtual ~Service() = default;
  /// From any thread; nothing where the address is none of this service. Throws Error for what the client did wrong.
  virtual std::optional<HttpReply> reply(const HttpRequest& request) = 0;
  /// Where it is asked, for those who ask elsewhere.
  virtual std::string_view addresses() const = 0;
  /// Works with the device until `ended`, which is asked ten times a second and more; who waits for more is told so.
  virtual void run(const std::function<bool()>& ended) = 0;
};

inline constexpr const char *ended_early = "the server ends", *too_many = "too many requests wait; try again later";

/// {"error": ..} with this status.
HttpReply error_of(int status, std::string_view why);

/// Whether a request has this method and address; "/v1" may be left out, and HEAD asks for what GET does.
bool asks(const HttpRequest& request, std::string_view method, const std::string& path);
/// Whether it sends a form, as audio is sent, where all others send JSON.
bool asks_with_form(const HttpRequest& request);

/// A number of /metrics, in Prometheus' text. `kind`: "counter" or "gauge".
std::string metric_text(std::string_view name, std::string_view kind, std::string_view help, double value);
inline constexpr const char* metrics_type = "text/plain; version=0.0.4";

}  // namespace vkformer
