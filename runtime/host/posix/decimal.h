#pragma once
// What stands in for std::from_chars of a double where the C++ library has none.

#include <charconv>

namespace vkformer::host {

/// By strtod() in the locale "C", without what that takes and std::from_chars does not: blanks, a '+', hexadecimals.
/// Numbers of more than 800 characters are cut there. What is too large or too small for a double is out of range and
/// leaves `value` alone.
std::from_chars_result decimal_by_strtod(const char* begin, const char* end, double& value);

}  // namespace vkformer::host
