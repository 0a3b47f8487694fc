#include "tools/cli/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/files/utf8.h"
#include "runtime/host/streams.h"

namespace vkformer {

namespace {

int output_error = 0;  ///< errno of the first failure
bool is_muted = false;

void note_failure() {
  if (output_error == 0) output_error = errno != 0 ? errno : EIO;
}

}  // namespace

void mute(bool muted) { is_muted = muted; }

void say_text(std::string_view text) {
  if (is_muted) return;
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);  // where prepare_streams() gave it a buffer
}

std::string size_text(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (bytes >= int64_t{1} << 30) return fmt::format("{:.2f} GiB", size / (1 << 30));
  return bytes >= 1 << 20 ? fmt::format("{:.1f} MiB", size / (1 << 20)) : fmt::format("{:.1f} KiB", size / 1024);
}

std::string counted(int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void say_line(std::string_view text) {
  constexpr size_t most_bytes = 4000;
  say_text(printable(text, most_bytes) + '\n');
}

void print_text(std::string_view text) {
  if (output_error != 0 || is_muted) return;
  static const bool terminal = host::is_terminal(host::Stream::output);
  std::string shown;
  if (terminal) text = shown = for_terminal(text);
  errno = 0;
  // Not every C library has lines of its own on a terminal.
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || (terminal && std::fflush(stdout) != 0))
    note_failure();
}

void flush_output() {
  if (output_error != 0) return;
  errno = 0;
  if (std::fflush(stdout) != 0) note_failure();
}

void check_output() {
  flush_output();
  check_written();
}

void check_written() {
  if (host::reader_left(output_error)) throw ReaderLeft(std::strerror(output_error));
  check(output_error == 0, "the results can't be written to stdout: {}", std::strerror(output_error));
}

}  // namespace vkformer
