// `vkformer serve`: a model behind OpenAI's API.

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "models/chat/chat_files.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/generation_memory.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/page.h"
#include "tools/cli/profile.h"
#include "tools/cli/serve/http_guard.h"
#include "tools/cli/serve/text_service.h"

namespace vkformer {

namespace {

std::string key_of(const ServeFlags& flags) {
  if (!flags.key_file.empty()) {
    std::string key(MappedFile(flags.key_file).text());
    while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.pop_back();
    check(!key.empty(), "--api-key-file {} is empty", in_quotes(flags.key_file));
    return key;
  }
  const char* set = std::getenv("VKFORMER_API_KEY");
  return flags.key.empty() && set ? set : flags.key;
}

HttpRules rules_of(const ServeFlags& flags) {
  HttpRules rules{.origins = flags.origins, .key = key_of(flags)};
  if (!is_loopback(flags.host) && rules.key.empty())
    throw UsageError(fmt::format("--host {} lets other machines ask; give them a key with --api-key-file (or "
                                 "--api-key, or the variable VKFORMER_API_KEY)",
                                 in_quotes(flags.host)));
  if (is_loopback(flags.host)) rules.hosts = {"localhost", "127.0.0.1", "[::1]", flags.host};
  return rules;
}

/// What the server is, until it has a model and afterwards.
class Front {
 public:
  Front(const ServeFlags& flags, std::string name) : rules_(rules_of(flags)), name_(std::move(name)) {}

  /// From now on `service`, which must outlive this object's use, is asked.
  void open(TextService& service) { service_ = &service; }
  /// Whatever happens, a reply.
  HttpReply reply(const HttpRequest& request) {
    HttpReply reply = [&] {
      try {
        return inside(request);
      } catch (const Error& error) {
        return failure(400, error.what());
      } catch (const std::exception& error) {
        return failure(500, error.what());
      }
    }();
    const auto headers = origin_headers(request, rules_);
    reply.headers.insert(reply.headers.end(), headers.begin(), headers.end());
    return reply;
  }

 private:
  static HttpReply failure(int status, std::string_view why) {
    return {.status = status, .body = text_of(error_reply(status, why))};
  }

  HttpReply inside(const HttpRequest& request) {
    if (auto stopped = reply_at_the_door(request, rules_)) return *std::move(stopped);
    const bool get = request.method == "GET";
    if (get && request.path == "/") return {.type = "text/html; charset=utf-8", .body = std::string(embedded_page("serve"))};
    if (get && (request.path == "/v1/models" || request.path == "/models"))
      return {.body = text_of({{"object", "list"},
                               {"data", {{{"id", name_}, {"object", "model"}, {"created", 0}, {"owned_by", "vkformer"}}}}})};
    TextService* service = service_;
    if (!service) return failure(503, "the model is being loaded");
    if (get && request.path == "/health") return {.body = text_of({{"status", "ok"}})};
    if (auto answer = service->reply(request)) return *std::move(answer);
    return failure(404, fmt::format("there is no {} {}", printable(request.method, 20), printable(request.path, 100)));
  }

  HttpRules rules_;
  std::string name_;
  std::atomic<TextService*> service_ = nullptr;
};

std::string name_of(const ServeFlags& flags, const std::filesystem::path& folder) {
  if (!flags.name.empty()) return flags.name;
  const auto path = std::filesystem::absolute(flags.model).lexically_normal();
  const auto name = path.has_filename() ? path.filename() : path.parent_path().filename();
  return name.empty() ? folder.filename().string() : name.string();
}

}  // namespace

void serve(const ServeFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check(model.generates() && !model.has_encoder(), "this {} model does not go on with a text, which is what is served",
        model.family);
  std::optional<ChatSetup> setup;
  if (!flags.chat_template.empty() || find_chat_template(folder)) setup.emplace(flags, folder);
  const PromptText tokenizer(folder);
  auto [config, taken] = answer_settings(flags, folder, model, tokenizer, setup ? setup->behind_answers : "");
  GenerationConfig longest = config;
  longest.max_new_tokens = INT32_MAX;
  const auto search = make_search(longest, {{0}}, model.vocabulary);
  const Weights weights(model.parameters, folder);

  Front front(flags, name_of(flags, folder));
  // Before weights are loaded: a port that is taken is known at once.
  auto server = std::make_unique<HttpServer>(HttpSettings{.host = flags.host, .port = static_cast<uint16_t>(flags.port)},
                                             [&](const HttpRequest& request) { return front.reply(request); });
  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  const GeneratorShape shape{.rows = flags.slots,
                             .capacity = flags.context,
                             .choices = search->choices(),
                             .usable = search->usable(),
                             .cache_type = cache_type(flags.cache_dtype)};
  check_fits(model, folder, shape, backend->facts());
  SessionGroup group(*backend, model, load_store(*backend, model, weights, flags.common.quiet, adapter.get()), shape);
  group.prepare();
  TextSlots slots(group, tokenizer, static_cast<size_t>(flags.waiting));
  TextService service(slots, tokenizer, setup ? &*setup : nullptr, config, model.vocabulary, name_of(flags, folder),
                      flags.common.quiet);
  // Connections end before what they use.
  const std::unique_ptr<void, std::function<void(void*)>> stop(&server, [&](void*) { server.reset(); });
  front.open(service);
  catch_end_signals();
  const std::string host = flags.host.find(':') == std::string::npos ? flags.host : "[" + flags.host + "]";
  print("http://{}:{}\n", host, server->port());
  check_output();
  if (!flags.common.quiet)
    say("{} of {} positions; {}", counted(flags.slots, "slot"), slots.capacity(),
        setup ? setup->chat_template.name() : "no chat template: /v1/completions alone");
  slots.run(end_was_asked);
}

}  // namespace vkformer
