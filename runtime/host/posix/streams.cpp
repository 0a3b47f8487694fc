#include "runtime/host/streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace vkformer::host {

void prepare_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDONLY);  // the lowest free descriptor: this one
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
}

bool is_terminal(Stream stream) { return isatty(static_cast<int>(stream)) == 1; }

bool input_is_file() {
  struct stat facts {};
  return fstat(STDIN_FILENO, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool wait_for_input() {
  constexpr int milliseconds = 200;
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  const int ready = poll(&input, 1, milliseconds);
  return ready > 0 || (ready < 0 && errno != EINTR);  // what is wrong with it reading tells
}

ptrdiff_t read_input(std::span<char> bytes) { return ::read(STDIN_FILENO, bytes.data(), bytes.size()); }

bool reader_left(int error) { return error == EPIPE; }

}  // namespace vkformer::host
