#include "runtime/host/streams.h"

#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "runtime/host/windows/console.h"
#include "runtime/host/windows/win32.h"

namespace vkformer::host {

namespace {

constexpr DWORD standard_handles[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};

HANDLE handle_of(Stream stream) { return GetStdHandle(standard_handles[static_cast<size_t>(stream)]); }

UINT code_page_before = 0;

/// A line that was typed, in UTF-8: ReadFile would give it in the console's code page.
ptrdiff_t read_console(std::span<char> bytes) {
  std::wstring line(std::max<size_t>(bytes.size() / 3, 2), L'\0');
  DWORD count = 0;
  forget_control_events();
  SetLastError(0);
  const HANDLE console = handle_of(Stream::input);
  if (!ReadConsoleW(console, line.data(), static_cast<DWORD>(line.size() - 1), &count, nullptr)) {
    errno = last_error();
    return -1;
  }
  if (count == 0 && GetLastError() == ERROR_OPERATION_ABORTED) {
    await_control_event();  // Ctrl-C, which a thread of its own is told
    errno = EINTR;
    return -1;
  }
  DWORD more = 0;
  const bool half = count > 0 && IS_HIGH_SURROGATE(line[count - 1]);
  if (half && ReadConsoleW(console, &line[count], 1, &more, nullptr)) count += more;
  constexpr wchar_t control_z = 0x1A;
  if (count > 0 && line[0] == control_z) return 0;
  const std::string text = utf8_of(std::wstring_view(line).substr(0, count));
  std::ranges::copy(text, bytes.begin());
  return static_cast<ptrdiff_t>(text.size());
}

}  // namespace

void prepare_streams() {
  for (std::FILE* stream : {stdin, stdout, stderr})
    if (_fileno(stream) >= 0) _setmode(_fileno(stream), _O_BINARY);
  code_page_before = GetConsoleOutputCP();
  if (code_page_before != 0 && SetConsoleOutputCP(CP_UTF8)) std::atexit([] { SetConsoleOutputCP(code_page_before); });
  // Without buffers a console gets byte after byte, which are no characters. What writes flushes.
  for (std::FILE* stream : {stdout, stderr}) std::setvbuf(stream, nullptr, _IOFBF, 1 << 12);
  for (const Stream stream : {Stream::output, Stream::messages}) {
    DWORD mode = 0;
    if (GetConsoleMode(handle_of(stream), &mode))
      SetConsoleMode(handle_of(stream), mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}

bool is_terminal(Stream stream) {
  DWORD mode = 0;
  return GetConsoleMode(handle_of(stream), &mode) != 0;
}

bool input_is_file() { return GetFileType(handle_of(Stream::input)) == FILE_TYPE_DISK; }

bool wait_for_input() {
  const HANDLE input = handle_of(Stream::input);
  if (GetFileType(input) != FILE_TYPE_PIPE) return true;  // Ctrl-C ends reading a console, too
  constexpr DWORD pause = 10, longest = 200;              // milliseconds; nothing waits for a pipe for some time
  for (DWORD waited = 0; waited < longest; waited += pause) {
    DWORD there = 0;
    if (!PeekNamedPipe(input, nullptr, 0, nullptr, &there, nullptr) || there > 0) return true;
    Sleep(pause);
  }
  return false;
}

ptrdiff_t read_input(std::span<char> bytes) {
  if (is_terminal(Stream::input)) return read_console(bytes);
  return _read(_fileno(stdin), bytes.data(), static_cast<unsigned>(bytes.size()));
}

bool reader_left(int error) { return error == EPIPE || error == EINVAL; }  // the C library has no name for it

}  // namespace vkformer::host
