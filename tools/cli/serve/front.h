#pragma once
// The address at which a server is asked: it answers from the start, and passes on to a service once that is ready.

#include <atomic>
#include <memory>
#include <string>

#include "tools/cli/generate_flags.h"
#include "tools/cli/serve/http_guard.h"
#include "tools/cli/serve/service.h"

namespace vkformer {

class Front {
 public:
  /// Listens, before any weights are loaded: a port that is taken is known at once. `name`: of the model, for clients.
  /// `page`: see embedded_page(). `most_body`: bytes that a request may have.
  /// Throws UsageError where other machines could ask without a key, and Error where it can't listen.
  Front(const ServeFlags& flags, std::string name, const char* page = "serve",
        size_t most_body = HttpSettings().most_body);
  /// Prints the address, says `what` is there, and serves until a signal asks for the end. Nobody uses `service`
  /// afterwards, whatever was thrown.
  void serve(Service& service, const std::string& what);

 private:
  std::optional<HttpReply> at_the_door(const HttpRequest& request) const;
  HttpReply reply(const HttpRequest& request);
  HttpReply inside(const HttpRequest& request);

  const ServeFlags& flags_;
  HttpRules rules_;
  std::string name_;
  const char* page_;
  std::atomic<Service*> service_ = nullptr;
  std::unique_ptr<HttpServer> server_;  ///< ends before what it asks
};

}  // namespace vkformer
