#include "tools/cli/serve/http_server.h"

#include <microhttpd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/host/sockets.h"

namespace vkformer {

namespace {

using Clock = std::chrono::steady_clock;

/// What a connection may take for its headers.
constexpr size_t most_header_bytes = size_t{64} << 10;

/// For replies that are being sent when the server ends.
constexpr std::chrono::milliseconds longest_goodbye{1500};

/// Parts of a form; real ones have a dozen.
constexpr size_t most_fields = 256;

/// A form while it comes.
class ComingForm {
 public:
  /// Reads nothing where the request's headers name no boundary of its parts.
  explicit ComingForm(MHD_Connection* connection)
      : reader_(MHD_create_post_processor(connection, size_t{64} << 10, keep, this)) {}

  void read(const char* data, size_t size) {
    readable_ = readable_ && reader_ && MHD_post_process(reader_.get(), data, size) == MHD_YES;
  }
  /// Nothing where it has no end, or can't be read.
  std::optional<std::vector<FormField>> end() {
    const bool whole = reader_ && MHD_destroy_post_processor(reader_.release()) == MHD_YES;
    return whole && readable_ ? std::optional(std::move(fields_)) : std::nullopt;
  }

 private:
  static MHD_Result keep(void* context, MHD_ValueKind, const char* name, const char* file, const char*, const char*,
                         const char* data, uint64_t offset, size_t size) {
    if (!name) return MHD_NO;  // a part that has none is no field of a form
    auto& fields = static_cast<ComingForm*>(context)->fields_;
    // It may say that a field begins before any of it is there, and then once more.
    const bool goes_on = !fields.empty() && fields.back().value.empty() && fields.back().name == name;
    if (offset == 0 && !goes_on) {
      if (fields.size() == most_fields) return MHD_NO;
      fields.push_back({.name = name, .file = file ? file : ""});
    }
    fields.back().value.append(data, size);
    return MHD_YES;
  }

  struct Destroy {
    void operator()(MHD_PostProcessor* reader) const { MHD_destroy_post_processor(reader); }
  };
  std::vector<FormField> fields_;
  bool readable_ = true;
  std::unique_ptr<MHD_PostProcessor, Destroy> reader_;
};

/// A request while it comes.
struct Coming {
  HttpRequest request;
  Clock::time_point begin = Clock::now();
  std::unique_ptr<ComingForm> form;  ///< nullptr: the body is kept as it is
  size_t received = 0;               ///< bytes of the body
  bool too_large = false;

  void receive(const char* data, size_t size) {
    received += size;
    form ? form->read(data, size) : static_cast<void>(request.body.append(data, size));
  }
};

/// A reply while it goes.
struct Going {
  explicit Going(HttpReply what) : reply(std::move(what)) {}
  ~Going() {
    if (reply.ended) reply.ended();
  }
  Going(const Going&) = delete;
  Going& operator=(const Going&) = delete;

  HttpReply reply;
  size_t sent = 0;  ///< of the body
};

/// `next` may throw no more than the handler may.
ssize_t send_some(void* context, uint64_t, char* buffer, size_t room) {
  auto& going = *static_cast<Going*>(context);
  std::string& body = going.reply.body;
  if (going.sent == body.size()) {
    body = going.reply.next();
    going.sent = 0;
    if (body.empty()) return MHD_CONTENT_READER_END_OF_STREAM;
  }
  const size_t count = std::min(room, body.size() - going.sent);
  std::memcpy(buffer, body.data() + going.sent, count);
  going.sent += count;
  return static_cast<ssize_t>(count);
}

MHD_Result queue_reply(MHD_Connection* connection, HttpReply reply) {
  const auto status = static_cast<unsigned>(reply.status);
  auto headers = std::move(reply.headers);
  headers.emplace_back("Content-Type", reply.type);
  MHD_Response* response = nullptr;
  if (reply.next) {
    auto going = std::make_unique<Going>(std::move(reply));
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, send_some, going.get(),
                                                 [](void* context) { delete static_cast<Going*>(context); });
    if (response) going.release();
  } else {
    response = MHD_create_response_from_buffer(reply.body.size(), reply.body.data(), MHD_RESPMEM_MUST_COPY);
  }
  if (!response) return MHD_NO;
  for (const auto& [name, value] : headers) MHD_add_response_header(response, name.c_str(), value.c_str());
  const MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

std::string lower_ascii(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

MHD_Result keep_header(void* context, MHD_ValueKind, const char* name, const char* value) {
  static_cast<HttpRequest*>(context)->headers.emplace(lower_ascii(name), value ? value : "");
  return MHD_YES;
}

HttpReply cut_reply(int status, std::string why) {
  return {.status = status, .type = "text/plain", .body = std::move(why), .headers = {{"Connection", "close"}}};
}

}  // namespace

std::string HttpRequest::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string() : found->second;
}

struct HttpServer::Daemon {
  HttpSettings settings;
  Door door;
  Handler handler;
  MHD_Daemon* daemon = nullptr;
  std::mutex mutex;
  std::condition_variable one_less;
  int requests = 0;  ///< whose replies are not sent yet

  void count(int more) {
    const std::lock_guard lock(mutex);
    requests += more;
    one_less.notify_all();
  }

  MHD_Result take(MHD_Connection* connection, const char* url, const char* method, const char* data, size_t* size,
                  void** state) {
    auto* coming = static_cast<Coming*>(*state);
    if (!coming) {  // the headers are there
      auto made = std::make_unique<Coming>();
      made->request.method = method;
      made->request.path = url;
      MHD_get_connection_values(connection, MHD_HEADER_KIND, keep_header, &made->request);
      const auto stopped = door(made->request);
      if (!stopped && made->request.header("content-type").starts_with("multipart/form-data"))
        made->form = std::make_unique<ComingForm>(connection);
      *state = made.release();
      count(1);
      return stopped ? queue_reply(connection, *stopped) : MHD_YES;
    }
    if (*size > 0) {
      if (Clock::now() - coming->begin > std::chrono::seconds(settings.seconds)) return MHD_NO;
      coming->too_large = coming->too_large || *size > settings.most_body - coming->received;
      if (!coming->too_large) coming->receive(data, *size);
      *size = 0;
      // A client that goes on sending what nobody reads is cut off.
      return coming->too_large && Clock::now() - coming->begin > std::chrono::seconds(2) ? MHD_NO : MHD_YES;
    }
    if (coming->too_large)
      return queue_reply(
          connection,
          cut_reply(413, fmt::format("the request has more than {} MiB; send fewer files, or smaller ones\n",
                                     settings.most_body >> 20)));
    const auto socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    if (coming->form) coming->request.form = coming->form->end();
    coming->request.gone = [socket] { return host::peer_left(static_cast<intptr_t>(socket)); };
    return queue_reply(connection, handler(coming->request));
  }
};

HttpServer::HttpServer(const HttpSettings& settings, Door door, Handler handler)
    : daemon_(new Daemon{.settings = settings, .door = std::move(door), .handler = std::move(handler)}) {
  const auto access = [](void* context, MHD_Connection* connection, const char* url, const char* method, const char*,
                         const char* data, size_t* size, void** state) {
    return static_cast<Daemon*>(context)->take(connection, url, method, data, size, state);
  };
  const auto completed = [](void* context, MHD_Connection*, void** state, MHD_RequestTerminationCode) {
    if (!*state) return;
    delete static_cast<Coming*>(std::exchange(*state, nullptr));
    static_cast<Daemon*>(context)->count(-1);
  };
  host::SocketAddress address =
      host::listening_address(settings.host, settings.port, "--host " + in_quotes(settings.host));
  unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL;
  if (address.is_v6) flags |= MHD_USE_IPv6;
  constexpr size_t stack = size_t{8} << 20;  // Linux' own; macOS gives threads half a MiB
  errno = 0;
  daemon_->daemon = MHD_start_daemon(
      flags, settings.port, nullptr, nullptr, +access, daemon_.get(), MHD_OPTION_SOCK_ADDR, address.bytes.data(),
      MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(settings.most_connections), MHD_OPTION_CONNECTION_TIMEOUT,
      settings.seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, most_header_bytes, MHD_OPTION_THREAD_STACK_SIZE, stack,
      MHD_OPTION_NOTIFY_COMPLETED, +completed, daemon_.get(), MHD_OPTION_END);
  check(daemon_->daemon != nullptr, "can't listen at {} port {}: {}; choose another with --port", settings.host,
        settings.port, host::listening_error());
}

HttpServer::~HttpServer() {
  if (const auto socket = MHD_quiesce_daemon(daemon_->daemon); socket != MHD_INVALID_SOCKET)
    host::close_socket(static_cast<intptr_t>(socket));
  std::unique_lock lock(daemon_->mutex);
  daemon_->one_less.wait_for(lock, longest_goodbye, [&] { return daemon_->requests == 0; });
  lock.unlock();
  MHD_stop_daemon(daemon_->daemon);
}

uint16_t HttpServer::port() const {
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_->daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info ? info->port : daemon_->settings.port;
}

}  // namespace vkformer
