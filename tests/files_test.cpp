// Mapped files, JSON files and atomic writes.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "runtime/files/atomic_file.h"
#include "runtime/files/json_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/utf8.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

std::string error_of_json(const std::string& text) {
  return error_of([&] { JsonObject::parse(text, "c.json"); });
}

}  // namespace

TEST_CASE("UTF-8 is read strictly", "[files]") {
  for (const char32_t c :
       {U'\0', U'a', U'\x7F', U'\x80', U'\x7FF', U'\x800', U'\xD7FF', U'\xE000', U'\xFFFF', U'\x10000', U'\x10FFFF'}) {
    std::string text;
    append_utf8(text, c);
    const Utf8Step step = read_utf8(text, 0);
    CHECK(step.valid);
    CHECK(step.code_point == c);
    CHECK(step.length == text.size());
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const Utf8Step part = read_utf8(text.substr(0, cut), 0);
      CHECK_FALSE(part.valid);
      CHECK(part.incomplete);
      CHECK(part.length == cut);
    }
  }
  // Overlong, surrogate, too large, lone continuation: none is valid, none can become valid.
  for (const char* bad :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80", "\xFF", "\xC3(", "\xE2\x82("}) {
    const Utf8Step step = read_utf8(bad, 0);
    CHECK_FALSE(step.valid);
    CHECK_FALSE(step.incomplete);
  }
  CHECK(read_utf8("\xE2\x82(", 0).length == 2);
  CHECK(read_utf8("\xED\xA0\x80", 0).length == 1);
}

TEST_CASE("text in messages stays on one line", "[files]") {
  CHECK(in_quotes("a\nb\t\x01\xFF\xC3\xA9") == "\"a\\nb\\t\\x01\\xFF\xC3\xA9\"");
  CHECK(in_quotes("\xE2\x80\xA8\xE2\x80\xAE") == "\"\\u2028\\u202e\"");
  CHECK(printable(std::string(300, 'x'), 10) == "xxxxxxxxxx...");
}

TEST_CASE("text on a terminal keeps its lines and moves no cursor", "[files]") {
  CHECK(for_terminal("a\tb\nä\u202e") == "a\tb\nä\u202e");
  CHECK(for_terminal("\x1b[31m\r\x7f") == "\\x1B[31m\\x0D\\u007f");
  CHECK(for_terminal("\u009b31m \x9b") == "\\u009b31m \\x9B");
  CHECK(for_terminal(std::string_view("\0", 1)) == "\\x00");
}

TEST_CASE("a mapped file has the file's bytes", "[files]") {
  const TemporaryFolder folder;
  put(folder / "a", std::string("one\0two", 7));
  MappedFile file(folder / "a");
  CHECK(file.text() == std::string_view("one\0two", 7));
  MappedFile moved = std::move(file);
  CHECK(moved.text().size() == 7);
  put(folder / "b", "other");
  moved = MappedFile(folder / "b");
  CHECK(moved.text() == "other");
}

TEST_CASE("what cannot be mapped is refused with a reason", "[files]") {
  const TemporaryFolder folder;
  put(folder / "empty", "");
  const auto error = [](const std::filesystem::path& path) { return error_of([&] { MappedFile file(path); }); };
  CHECK_THAT(error(folder / "none"), ContainsSubstring((folder / "none").generic_string() + ": No such file"));
  CHECK_THAT(error(folder.path()), ContainsSubstring("it is a folder"));
  CHECK_THAT(error(folder / "empty"), ContainsSubstring("it is empty"));
  CHECK_THAT(error(folder / "empty/x"), ContainsSubstring("check the path"));
}

TEST_CASE("a file can be replaced while others read it", "[files]") {
  const TemporaryFolder folder;
  put(folder / "a", "old");
  const MappedFile file(folder / "a");
  write_file_atomically(folder / "a", "new");
  CHECK(file.text() == "old");
  CHECK(get(folder / "a") == "new");
}

TEST_CASE("JSON errors name file, line and column", "[files]") {
  CHECK_THAT(error_of_json("{\"a\": 1,\n \"b\": x}"), ContainsSubstring("c.json: not valid JSON at line 2, column 7"));
  CHECK_THAT(error_of_json(""), ContainsSubstring("line 1, column 1"));
  CHECK_THAT(error_of_json("{\"a\": \"\xFF\"}"), ContainsSubstring("line 1"));
  CHECK_THAT(error_of_json("{\"a\": 1e999}"), ContainsSubstring("not valid JSON"));
  CHECK_THAT(error_of_json("{\"a\": NaN}"), ContainsSubstring("not valid JSON"));
  CHECK_THAT(error_of_json("{} {}"), ContainsSubstring("not valid JSON"));
  CHECK_THAT(error_of_json("[1]"), ContainsSubstring("holds an array, not a JSON object"));
  CHECK_THAT(error_of_json("{\"a\": 1, \"b\": {\"c\": 1, \"c\": 1}}"), ContainsSubstring("\"c\" appears twice"));
  CHECK(error_of_json("{\"a\": {\"c\": 1}, \"b\": [{\"c\": 1}, {\"c\": 1}]}").empty());
}

TEST_CASE("what Python writes for infinity is null in files, as it is in strings", "[files]") {
  const TemporaryFolder folder;
  put(folder / "c.json", R"({"a": [0.0, Infinity, -Infinity], "b\"Infinity": "\\\"Infinity", "c": [Infinity]})");
  const nlohmann::json json = JsonObject::load(folder / "c.json").value();
  CHECK(json.at("a") == nlohmann::json{0.0, nullptr, nullptr});
  CHECK(json.at("b\"Infinity") == "\\\"Infinity");
  CHECK(json.at("c") == nlohmann::json{nullptr});
  put(folder / "d.json", "{\"a\": Infinity,\n \"b\": x}");
  CHECK_THAT(error_of([&] { JsonObject::load(folder / "d.json"); }), ContainsSubstring("line 2, column 7"));
}

TEST_CASE("hostile nesting is refused before it can overflow the stack", "[files]") {
  const auto nested = [](size_t depth) { return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}"; };
  CHECK(error_of_json(nested(json_depth_limit - 1)).empty());
  CHECK_THAT(error_of_json(nested(json_depth_limit)), ContainsSubstring("nested more than 64 deep"));
  CHECK_THAT(error_of_json(nested(10'000'000)), ContainsSubstring("nested more than 64 deep"));
}

TEST_CASE("objects of many members are read in the time of many objects", "[files]") {
  // Quadratic in their number these are a quarter of a minute, under sanitizers minutes.
  std::string header, in_order = "{\"z\": 0";
  constexpr int64_t count = 30'000;
  for (int64_t i = 0; i < count; ++i)
    header += fmt::format("{}\"t{}\": {{\"dtype\": \"U8\", \"shape\": [1], \"data_offsets\": [{}, {}]}}",
                          i > 0 ? "," : "{", i, i, i + 1);
  const std::string bytes = safetensors_bytes(header + "}", std::string(count, '\0'));
  CHECK(SafetensorsFile(std::as_bytes(std::span(bytes)), "x.safetensors").tensors().size() == count);
  for (size_t i = 1; i < json_ordered_limit; ++i) in_order += fmt::format(", \"k{}\": 0", i);
  CHECK(parse_json_in_order(in_order + "}", "c.json").begin().key() == "z");
  CHECK_THAT(error_of([&] { parse_json_in_order("[" + in_order + ", \"a\": 0}]", "c.json"); }),
             ContainsSubstring("c.json: an object has 1001 members"));
}

TEST_CASE("JSON files have a size limit", "[files]") {
  const TemporaryFolder folder;
  put(folder / "c.json", "{\"a\": 1}");
  CHECK(require_integer(JsonObject::load(folder / "c.json"), "a", 0, 9) == 1);
  CHECK_THAT(error_of([&] { JsonObject::load(folder / "c.json", 7); }), ContainsSubstring("8 bytes are more"));
}

TEST_CASE("fields are checked for type and range", "[files]") {
  const JsonObject json = JsonObject::parse(
      R"({"n": 12, "big": 18446744073709551615, "x": 0.5, "yes": true, "s": "gelu", "none": null, "l": [1], )"
      R"("o": {"k": 3}})",
      "c.json");
  CHECK(require_integer(json, "n", 1, 12) == 12);
  CHECK(require_number(json, "x", 0, 1) == 0.5);
  CHECK(require_number(json, "n", 0, 100) == 12);
  CHECK(require_boolean(json, "yes"));
  CHECK(require_string(json, "s") == "gelu");
  CHECK(require_integer(require_object(json, "o"), "k", 0, 9) == 3);
  CHECK(json.has("n"));
  CHECK_FALSE(json.has("none"));
  CHECK_FALSE(json.has("absent"));
  CHECK(integer_or(json, "absent", 7, 0, 9) == 7);
  CHECK(number_or(json, "none", 0.25, 0, 1) == 0.25);
  CHECK(boolean_or(json, "yes", false));
  CHECK(string_or(json, "s", "relu") == "gelu");

  const auto integer = [&](const char* key) { return error_of([&] { require_integer(json, key, 1, 11); }); };
  CHECK(integer("n") == "c.json: \"n\" must be an integer from 1 to 11, not 12");
  CHECK(integer("absent") == "c.json: \"absent\" is missing; add it");
  CHECK(integer("none") == "c.json: \"none\" is missing; add it");
  CHECK_THAT(integer("big"), EndsWith("not 18446744073709551615"));
  CHECK_THAT(integer("x"), EndsWith("not 0.5"));
  CHECK_THAT(integer("s"), EndsWith("not \"gelu\""));
  CHECK_THAT(integer("l"), EndsWith("not an array"));
  CHECK_THAT(error_of([&] { require_number(json, "x", 0.6, 1); }), EndsWith("from 0.6 to 1, not 0.5"));
  CHECK_THAT(error_of([&] { require_boolean(json, "n"); }), EndsWith("true or false, not 12"));
  CHECK_THAT(error_of([&] { require_string(json, "n"); }), EndsWith("must be a string, not 12"));
  CHECK_THAT(error_of([&] { require_object(json, "n"); }), ContainsSubstring("must be an object"));
  CHECK_THAT(error_of([&] { require_integer(require_object(json, "o"), "z", 0, 1); }),
             ContainsSubstring("c.json, o: \"z\" is missing"));
  CHECK_THAT(error_of([&] { integer_or(json, "s", 1, 0, 9); }), ContainsSubstring("must be an integer"));
}

TEST_CASE("an atomic file appears whole, or the old one stays", "[files]") {
  const TemporaryFolder folder;
  put(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write(std::as_bytes(std::span("new", 3)));
    CHECK(get(folder / "a") == "old");
    CHECK(names_in(folder.path()).size() == 2);
  }
  CHECK(get(folder / "a") == "old");
  CHECK(names_in(folder.path()) == std::set<std::string>{"a"});
  write_file_atomically(folder / "a", "new");
  CHECK(get(folder / "a") == "new");
  CHECK(names_in(folder.path()) == std::set<std::string>{"a"});

  const auto error = [](const std::filesystem::path& path) {
    return error_of([&] { write_file_atomically(path, "x"); });
  };
  CHECK_THAT(error(folder / "none/a"),
             ContainsSubstring("create the folder " + (folder / "none").generic_string() + " first"));
  CHECK_THAT(error(folder.path()), ContainsSubstring("it is a folder"));
  write_json(folder / "s.json", {{"step", 3}});
  CHECK(get(folder / "s.json") == "{\n  \"step\": 3\n}\n");
  CHECK_THAT(error_of([&] { write_json(folder / "s.json", "\xFF"); }), ContainsSubstring("UTF-8"));
}
