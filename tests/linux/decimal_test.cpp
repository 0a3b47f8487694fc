// What stands in for std::from_chars on macOS, beside std::from_chars.

#include "runtime/host/posix/decimal.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstring>
#include <string>

using namespace vkformer;

TEST_CASE("numbers are read as std::from_chars reads them") {
  for (const std::string text :
       {"0", "-0", "1", "-1.5", ".5", "5.", "1e3", "1e", "1e+", "2e-3x", "1.7976931348623157e308", "4.9e-324", "1e-310",
        "inf", "-INFINITY", "nan", "0x10", "-0x1p3", "+1", " 1", "", "-", ".", "-.", "e5", "1,5", "-+1", "- 1", "1e400",
        "-1e400", "1e-400", "infinite", "0.1", "123456789012345678901234567890", "\n1", "0x", "00012"}) {
    CAPTURE(text);
    double expected = 17, read = 17;
    const char *begin = text.data(), *end = begin + text.size();
    const std::from_chars_result wanted = std::from_chars(begin, end, expected),
                                 got = host::decimal_by_strtod(begin, end, read);
    CHECK(got.ec == wanted.ec);
    CHECK(got.ptr - begin == wanted.ptr - begin);
    CHECK((std::isnan(expected) ? std::isnan(read) : std::memcmp(&read, &expected, sizeof read) == 0));
  }
}

TEST_CASE("numbers end where their text does") {
  const std::string text = "1.25";
  double read = 0;
  CHECK(host::decimal_by_strtod(text.data(), text.data() + 3, read).ptr == text.data() + 3);
  CHECK(read == 1.2);
}
