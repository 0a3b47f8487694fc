#pragma once
// What a command writes: results on stdout, messages for people on stderr. Results that can't be written make the
// command fail in the end; messages that can't be written are lost, and no work stops for them.

#include <fmt/core.h>

#include <string_view>

namespace vkformer {

/// Before anything else is opened: a standard stream that is closed gets a descriptor nobody can write to, so that no
/// file takes its place; and a reader that went away or a file that grew too large is an error, not a signal.
void prepare_streams();

/// Writes to stderr and never throws.
void say_text(std::string_view text);
/// A line for people.
template <class... T>
void say(fmt::format_string<T...> format, T&&... arguments) {
  say_text(fmt::vformat(format, fmt::make_format_args(arguments...)) + '\n');
}

/// Writes to stdout and never throws for that: check_output() tells.
void print_text(std::string_view text);
template <class... T>
void print(fmt::format_string<T...> format, T&&... arguments) {
  print_text(fmt::vformat(format, fmt::make_format_args(arguments...)));
}
/// Lets readers see what was printed so far.
void flush_output();
/// The same; throws Error when anything printed could not be written. Called at the end of every command, and within
/// one where going on is of no use then.
void check_output();

}  // namespace vkformer
