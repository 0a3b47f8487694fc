#include "tools/cli/serve/service.h"

#include <fmt/format.h>

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

bool asks_with_form(const HttpRequest& request) {
  return asks(request, "POST", "/v1/audio/transcriptions") || asks(request, "POST", "/v1/audio/translations");
}

std::string metric_text(std::string_view name, std::string_view kind, std::string_view help, double value) {
  return fmt::format("# HELP vkformer:{0} {1}\n# TYPE vkformer:{0} {2}\nvkformer:{0} {3}\n", name, help, kind, value);
}

}  // namespace vkformer
