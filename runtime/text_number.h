#pragma once
// Numbers in texts, as std::from_chars reads them: no blanks before, no '+', whatever the locale.

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

#if defined(__APPLE__)
#include "runtime/host/posix/decimal.h"
#endif

namespace vkformer {

/// std::from_chars of a double, which Apple's library does not have.
inline std::from_chars_result decimal_from_chars(const char* begin, const char* end, double& value) {
#if defined(__APPLE__)
  return host::decimal_by_strtod(begin, end, value);
#else
  return std::from_chars(begin, end, value);
#endif
}

/// The number that a whole text is; nothing for other texts, and for what the type can't hold.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::floating_point<Number>) {
    static_assert(std::same_as<Number, double>);
    read = decimal_from_chars(text.data(), end, value);
  } else {
    read = std::from_chars(text.data(), end, value);
  }
  return read.ec == std::errc() && read.ptr == end ? std::optional(value) : std::nullopt;
}

}  // namespace vkformer
