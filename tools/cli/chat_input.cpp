#include "tools/cli/chat_input.h"

#include <cerrno>
#include <utility>

#include "runtime/host/signals.h"
#include "runtime/host/streams.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

constexpr const char* blanks = " \t\r\n";
constexpr const char* quotes = "\"\"\"";

std::string without_blanks(const std::string& text) {
  const size_t begin = text.find_first_not_of(blanks);
  return begin == text.npos ? std::string() : text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

}  // namespace

Interruption::Interruption() : caught_(host::is_terminal(host::Stream::input) && host::catch_interrupts()) {}

Interruption::~Interruption() {
  if (caught_) host::release_interrupts();
}

bool Interruption::take() { return host::take_interrupt(); }

ChatInput::ChatInput() : terminal_(host::is_terminal(host::Stream::input) && host::is_terminal(host::Stream::output)) {}

ChatInput::Read ChatInput::read_line(std::string& line) {
  for (size_t seen = 0;;) {
    if (const size_t end = buffer_.find('\n', seen); end != buffer_.npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (line.ends_with('\r')) line.pop_back();
      return Read::line;
    }
    seen = buffer_.size();
    char bytes[4096];
    const ptrdiff_t count = host::read_input(bytes);
    if (count > 0) {
      buffer_.append(bytes, static_cast<size_t>(count));
    } else if (count < 0 && errno == EINTR) {
      if (Interruption::take()) return Read::interrupted;
    } else {
      line = std::exchange(buffer_, {});
      return line.empty() ? Read::end : Read::line;
    }
  }
}

std::optional<std::string> ChatInput::next() {
  bool interrupted = false;
  while (true) {
    if (terminal_) print("> ");
    flush_output();
    std::string message, line;
    bool quoted = false, more = true;
    Read read = Read::line;
    while (more && (read = read_line(line)) == Read::line) {
      if (without_blanks(line) == quotes) {
        quoted = !quoted;
        more = quoted;
        continue;
      }
      more = quoted || line.ends_with('\\');
      if (!quoted && more) line.pop_back();
      message += line;
      if (more) message += '\n';
      if (more && terminal_) print(". ");
      flush_output();
    }
    message = without_blanks(message);
    if (read == Read::interrupted) {
      if (terminal_) print("\n");
      if (interrupted) return {};
      if (terminal_) say("(Ctrl-C again or /quit ends the chat)");
      interrupted = true;
      continue;
    }
    if (!message.empty()) return message;
    if (read == Read::end) return {};
  }
}

}  // namespace vkformer
