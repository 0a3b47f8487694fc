#include "tools/cli/hub/transfer.h"

#include <curl/curl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr long connect_patience = 30, patience = 60;  // seconds until there is a connection; in which nothing comes
constexpr size_t message_limit = 16 << 10;
constexpr auto range_refused = CURLE_RANGE_ERROR;

/// Where a reply's body goes: to the file when it is what was asked for, else to the reply's text.
struct Sink {
  CURL* curl;
  HubReply& reply;
  size_t limit;  ///< bytes of the text
  std::FILE* file = nullptr;
  uint64_t at = 0, size = 0;  ///< bytes in the file; that it is to have
  const std::function<bool(uint64_t)>* progress = nullptr;
  bool too_long = false, ended = false;
  int error = 0;  ///< of the file

  /// Whether all of it was taken.
  bool take(const char* bytes, size_t count);
};

bool Sink::take(const char* bytes, size_t count) {
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply.status);
  const bool wanted = file != nullptr && (reply.status == 200 || reply.status == 206);
  const uint64_t room = wanted ? size - at : limit - reply.text.size();
  too_long = count > room;
  if (!wanted) reply.text.append(bytes, std::min<size_t>(count, room));
  if (too_long || !wanted) return !too_long;
  if (std::fwrite(bytes, 1, count, file) != count) {
    error = errno;
    return false;
  }
  at += count;
  return true;
}

size_t take_body(const char* bytes, size_t one, size_t count, void* sink) {
  return static_cast<Sink*>(sink)->take(bytes, one * count) ? one * count : 0;
}

size_t take_header(const char* bytes, size_t one, size_t count, void* sink) {
  std::string_view line(bytes, one * count);
  constexpr std::string_view key = "x-error-code:";
  if (line.size() > key.size() && curl_strnequal(line.data(), key.data(), key.size()) != 0) {
    line.remove_prefix(key.size());
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    static_cast<Sink*>(sink)->reply.error_code = line.substr(0, line.find_first_of("\r\n"));
  }
  return one * count;
}

int go_on(void* data, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& sink = *static_cast<Sink*>(data);
  sink.ended = sink.progress != nullptr && !(*sink.progress)(sink.at);
  return sink.ended ? 1 : 0;
}

bool is_this_machine(std::string_view url) {
  return url.starts_with("http://127.0.0.1:") || url.starts_with("http://localhost:");
}

}  // namespace

struct Transfer::Handle {
  CURL* curl = curl_easy_init();
  char message[CURL_ERROR_SIZE] = "";

  Handle() { check(curl != nullptr, "libcurl can't be used"); }
  ~Handle() { curl_easy_cleanup(curl); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// A request from the file's byte `sink.at` on. The connection stays for the next one.
  CURLcode run(const std::string& url, const std::string& token, Sink& sink) {
    curl_easy_reset(curl);
    message[0] = 0;
    const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl, option, value); };
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_ERRORBUFFER, message);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "vkformer/" VKFORMER_VERSION);
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, 10L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, url.starts_with("https:") ? "https" : "http,https");
    set(CURLOPT_CONNECTTIMEOUT, connect_patience);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, patience);
    if (!token.empty() && (url.starts_with("https:") || is_this_machine(url))) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BEARER));
      set(CURLOPT_XOAUTH2_BEARER, token.c_str());
    }
    set(CURLOPT_WRITEFUNCTION, take_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&sink));
    set(CURLOPT_HEADERFUNCTION, take_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&sink));
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, go_on);
    set(CURLOPT_XFERINFODATA, static_cast<void*>(&sink));
    if (sink.at > 0) set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(sink.at));
    const CURLcode result = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &sink.reply.status);
    return result;
  }
  std::string reason(CURLcode code) const { return message[0] != 0 ? message : curl_easy_strerror(code); }
};

Transfer::Transfer(std::string token) : handle_(std::make_unique<Handle>()), token_(std::move(token)) {}
Transfer::~Transfer() = default;

HubReply Transfer::get(const std::string& url, size_t limit) {
  HubReply reply;
  Sink sink{.curl = handle_->curl, .reply = reply, .limit = limit};
  const CURLcode code = handle_->run(url, token_, sink);
  check(!sink.too_long, "{} sends more than {} bytes", url, limit);
  check(code == CURLE_OK, "{}: {}", url, handle_->reason(code));
  return reply;
}

HubReply Transfer::append(const std::string& url, const std::filesystem::path& file, uint64_t size,
                          const std::function<bool(uint64_t)>& progress) {
  for (std::error_code none;;) {
    HubReply reply;
    uint64_t had = std::filesystem::exists(file, none) ? std::filesystem::file_size(file) : 0;
    if (had > size) {
      std::filesystem::remove(file);
      had = 0;
    }
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> open(std::fopen(file.generic_string().c_str(), "ab"),
                                                               std::fclose);
    check(open != nullptr, "'{}' can't be written: {}", file.generic_string(), std::strerror(errno));
    Sink sink{.curl = handle_->curl,
              .reply = reply,
              .limit = message_limit,
              .file = open.get(),
              .at = had,
              .size = size,
              .progress = &progress};
    CURLcode code = CURLE_OK;
    if (had < size) {
      code = handle_->run(url, token_, sink);
    } else {
      reply.status = 200;
    }
    if (std::fflush(open.get()) != 0 && sink.error == 0) sink.error = errno;
    check(sink.error == 0, "'{}' can't be written: {}; what is there stays for the next try", file.generic_string(),
          std::strerror(sink.error));
    check(!sink.too_long, "{} sends more than the {} bytes that it was to have", url, size);
    if (sink.ended || (code == CURLE_OK && (sink.at == size || reply.status >= 400))) return reply;
    if (code == range_refused) {  // all of it, then
      std::filesystem::resize_file(file, 0);
      continue;
    }
    check(sink.at > had, "{}: {}", url,
          code == CURLE_OK ? "the server sends less than the file has" : handle_->reason(code));
  }
}

}  // namespace vkformer
