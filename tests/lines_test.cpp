// Text files as lines.

#include "models/data/lines.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& content) {
  const TemporaryFolder folder;
  put(folder / "text", content);
  return read_lines(folder / "text");
}

std::string error_of_lines(const std::string& content) {
  return error_of([&] { lines_of(content); });
}

}  // namespace

TEST_CASE("lines end with a line feed or CRLF, and nothing behind the last is no line", "[score]") {
  CHECK(lines_of("one\ntwo\n") == Lines{"one", "two"});
  CHECK(lines_of("one\ntwo") == Lines{"one", "two"});
  CHECK(lines_of("one\r\ntwo\r\n") == Lines{"one", "two"});
  CHECK(lines_of("one\r\ntwo\r") == Lines{"one", "two"});
  CHECK(lines_of("\n\none\n\n") == Lines{"", "", "one", ""});
  CHECK(lines_of("\n") == Lines{""});
  // Only CRLF: other characters that may end a line are part of it.
  CHECK(lines_of("a\rb\xC2\x85"
                 "c\xE2\x80\xA8 \r\r\n") == Lines{"a\rb\xC2\x85"
                                                  "c\xE2\x80\xA8 \r"});
}

TEST_CASE("a byte order mark is no part of the first line", "[score]") {
  CHECK(lines_of("\xEF\xBB\xBFone\ntwo") == Lines{"one", "two"});
  CHECK(lines_of("one\n\xEF\xBB\xBFtwo") == Lines{"one", "\xEF\xBB\xBFtwo"});
}

TEST_CASE("lines that can't be read give one line that says where", "[score]") {
  CHECK_THAT(error_of_lines(""), ContainsSubstring("text: it is empty"));
  CHECK_THAT(error_of_lines("\xEF\xBB\xBF"), ContainsSubstring("text is empty"));
  CHECK_THAT(error_of_lines("one\nr\xC3\xA9sum\xE9\n"),
             ContainsSubstring("text:2: not UTF-8: byte 7 of the line is 0xE9"));
  CHECK_THAT(error_of_lines("\xFF\xFEo\0n\0"), ContainsSubstring("iconv -f UTF-16"));
  CHECK_THAT(error_of_lines("one\ntwo\nthree\xE2\x82"), ContainsSubstring("text:3: not UTF-8: byte 6"));
  // A character does not go on in the next line.
  CHECK_THAT(error_of_lines("one\xC3\n\xA9"), ContainsSubstring("text:1: not UTF-8"));
  const TemporaryFolder folder;
  CHECK_THAT(error_of([&] { read_lines(folder / "none"); }), ContainsSubstring("No such file"));
  CHECK_THAT(error_of([&] { read_lines(folder.path()); }), ContainsSubstring("it is a folder"));
}
