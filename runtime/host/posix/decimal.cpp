#include "runtime/host/posix/decimal.h"

#include <locale.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vkformer::host {

std::from_chars_result decimal_by_strtod(const char* begin, const char* end, double& value) {
  static const locale_t c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  char text[801];
  const auto length = static_cast<size_t>(std::min<ptrdiff_t>(end - begin, sizeof text - 1));
  std::memcpy(text, begin, length);
  text[length] = 0;
  const char* digits = text + (text[0] == '-');
  const bool is_name = *digits == 'i' || *digits == 'I' || *digits == 'n' || *digits == 'N';
  if (!is_name && *digits != '.' && (*digits < '0' || *digits > '9')) return {begin, std::errc::invalid_argument};
  if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    value = text[0] == '-' ? -0.0 : 0.0;
    return {begin + (digits + 1 - text), std::errc()};
  }
  char* stop = nullptr;
  errno = 0;
  const double read = strtod_l(text, &stop, c_locale);
  const char* ptr = begin + (stop - text);
  if (stop == text) return {begin, std::errc::invalid_argument};
  // Subnormal results are in range, though strtod() may say otherwise.
  if (errno == ERANGE && (read == 0 || read > 1 || read < -1)) return {ptr, std::errc::result_out_of_range};
  value = read;
  return {ptr, std::errc()};
}

}  // namespace vkformer::host
