#include "tools/cli/serve/front.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "models/serving/text_reply.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/output.h"
#include "tools/cli/page.h"

namespace vkformer {

namespace {

std::string key_of(const ServeFlags& flags) {
  if (!flags.key_file.empty()) {
    std::string key(MappedFile(flags.key_file).text());
    while (key.ends_with('\n') || key.ends_with('\r')) key.pop_back();
    check(!key.empty(), "--api-key-file {} is empty", in_quotes(flags.key_file));
    return key;
  }
  const char* set = std::getenv("VKFORMER_API_KEY");
  return flags.key.empty() && set ? set : flags.key;
}

HttpRules rules_of(const ServeFlags& flags) {
  HttpRules rules{.origins = flags.origins, .key = key_of(flags)};
  if (!is_loopback(flags.host)) {
    if (rules.key.empty())
      throw UsageError(
          fmt::format("--host {} lets other machines ask; give them a key with --api-key-file (or "
                      "--api-key, or the variable VKFORMER_API_KEY)",
                      in_quotes(flags.host)));
    return rules;
  }
  rules.hosts = {"localhost", "127.0.0.1", "[::1]", flags.host};
  for (const std::string& origin : flags.origins) rules.hosts.push_back(host_of(origin));  // of a proxy before it
  return rules;
}

}  // namespace

Front::Front(const ServeFlags& flags, std::string name, const char* page, size_t most_body)
    : flags_(flags),
      rules_(rules_of(flags)),
      name_(std::move(name)),
      page_(page),
      server_(std::make_unique<HttpServer>(
          HttpSettings{.host = flags.host,
                       .port = static_cast<uint16_t>(flags.port),
                       // Those that write, that wait, and some to be told that more can't.
                       .most_connections = static_cast<size_t>(flags.slots + flags.waiting) + 32,
                       .most_body = most_body},
          [this](const HttpRequest& request) { return at_the_door(request); },
          [this](const HttpRequest& request) { return reply(request); })) {}

void Front::serve(Service& service, const std::string& what) {
  const std::unique_ptr<Front, void (*)(Front*)> stop(this, [](Front* front) { front->server_.reset(); });
  service_ = &service;
  catch_end_signals();
  try {
    const bool numbers = flags_.host.find(':') != std::string::npos;  // of IPv6
    print("http://{}{}{}:{}\n", numbers ? "[" : "", flags_.host, numbers ? "]" : "", server_->port());
    check_output();
  } catch (const Error&) {
    service.run([] { return true; });  // whoever waits already is told
    throw;
  }
  if (!flags_.common.quiet) say("{}", what);
  service.run(end_was_asked);
}

std::optional<HttpReply> Front::at_the_door(const HttpRequest& request) const {
  auto reply = reply_at_the_door(request, rules_);
  if (reply) add_origin(*reply, request, rules_);
  return reply;
}

HttpReply Front::reply(const HttpRequest& request) {
  HttpReply reply;
  try {
    reply = inside(request);
  } catch (const Error& error) {
    reply = error_of(400, error.what());
  } catch (const std::exception& error) {
    reply = error_of(500, error.what());
  }
  add_origin(reply, request, rules_);
  return reply;
}

HttpReply Front::inside(const HttpRequest& request) {
  if (asks(request, "GET", "/")) return {.type = "text/html; charset=utf-8", .body = std::string(embedded_page(page_))};
  const nlohmann::json model{{"id", name_}, {"object", "model"}, {"created", 0}, {"owned_by", "vkformer"}};
  if (asks(request, "GET", "/v1/models"))
    return {.body = text_of({{"object", "list"}, {"data", nlohmann::json::array({model})}})};
  if (asks(request, "GET", "/v1/models/" + name_)) return {.body = text_of(model)};
  Service* service = service_;
  if (!service) return error_of(503, "the model is being loaded");
  if (asks(request, "GET", "/health")) return {.body = text_of({{"status", "ok"}})};
  if (auto answer = service->reply(request)) return *std::move(answer);
  return error_of(404, fmt::format("there is no {} {} here; this model is asked at {}", printable(request.method, 20),
                                   printable(request.path, 100), service->addresses()));
}

}  // namespace vkformer
