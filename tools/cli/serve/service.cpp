#include "tools/cli/serve/service.h"

#include <nlohmann/json.hpp>

#include "models/serving/text_reply.h"

namespace vkformer {

HttpReply error_of(int status, std::string_view why) {
  return {.status = status, .body = text_of(error_reply(status, why))};
}

bool asks(const HttpRequest& request, std::string_view method, const std::string& path) {
  return (request.method == method || (request.method == "HEAD" && method == "GET")) &&
         (request.path == path || "/v1" + request.path == path);
}

}  // namespace vkformer
