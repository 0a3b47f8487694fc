#pragma once
// What a command writes: results on stdout, messages for people on stderr. Results that can't be written make the
// command fail in the end; messages that can't be written are lost, and no work stops for them. Much of both comes from
// files that nobody may have looked at, so no control character of it reaches a terminal; in files and pipes results
// are as they are.

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/check.h"

namespace vkformer {

/// From now on nothing is written, or everything again.
void mute(bool muted);

/// Writes to stderr as it is, and never throws.
void say_text(std::string_view text);
/// One line for people, of bounded length: what could disturb it is escaped.
void say_line(std::string_view text);
template <class... T>
void say(fmt::format_string<T...> format, T&&... arguments) {
  say_line(fmt::vformat(format, fmt::make_format_args(arguments...)));
}

/// "12.3 MiB".
std::string size_text(int64_t bytes);
/// "1 line", "2 lines".
std::string counted(int64_t count, const char* noun);

/// Whoever read stdout has seen enough, as `head` has: there is nothing to say to anybody.
struct ReaderLeft : Error {
  using Error::Error;
};

/// Writes to stdout and never throws for that: check_output() tells.
void print_text(std::string_view text);
template <class... T>
void print(fmt::format_string<T...> format, T&&... arguments) {
  print_text(fmt::vformat(format, fmt::make_format_args(arguments...)));
}
/// Throws Error when some of what was printed is known to be lost, ReaderLeft where nobody reads it any more. Flushes
/// nothing: for loops over many results.
void check_written();
/// Lets readers see what was printed so far.
void flush_output();
/// The same; throws Error when anything printed could not be written. Called at the end of every command, and within
/// one where going on is of no use then.
void check_output();

}  // namespace vkformer
