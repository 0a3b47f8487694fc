#pragma once
// The one way to fail: check(condition, "[op] what, where, what to do", values...).

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace vkformer {

/// A line of this project's source. (std::source_location needs Clang 16.)
struct SourceLine {
  const char* file;
  int line;
  static constexpr SourceLine here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// A failure the user can act on: one line saying what, where and what to do. The tools exit with status 1.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, SourceLine where = SourceLine::here())
      : std::runtime_error(message), where_(where) {}
  /// The source line that found the fault, for developers; never part of what().
  SourceLine where() const { return where_; }

 private:
  SourceLine where_;
};

/// The device is gone, and with it all that was on it.
class DeviceLost : public Error {
 public:
  using Error::Error;
};

/// A wrong command line or setting. The tools exit with status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A format string that remembers where it was written.
template <class... Args>
struct CheckFormat {
  fmt::format_string<Args...> text;
  SourceLine where;
  template <class Text>
  consteval CheckFormat(const Text& literal, SourceLine at = SourceLine::here()) : text(literal), where(at) {}
};

template <class... Args>
[[noreturn]] void fail(CheckFormat<std::type_identity_t<Args>...> format, Args&&... args) {
  throw Error(fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

/// Throws Error with the formatted message unless `condition` holds.
template <class... Args>
void check(bool condition, CheckFormat<std::type_identity_t<Args>...> format, Args&&... args) {
  if (!condition) throw Error(fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

}  // namespace vkformer
