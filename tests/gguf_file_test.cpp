// GGUF files alone: what is written is read, and what can't be is refused; shards.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>

#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/gguf.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A file put together by hand, so that it may be wrong.
class Bytes {
 public:
  template <class Number>
  Bytes& add(Number value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& text(std::string_view value) {
    add<uint64_t>(value.size());
    text_ += value;
    return *this;
  }
  Bytes& magic() {
    text_ += "GGUF";
    return add<uint32_t>(3);
  }
  Bytes& counts(uint64_t tensors, uint64_t pairs) { return magic().add(tensors).add(pairs); }
  Bytes& pair(std::string_view key, uint32_t type) { return text(key).add(type); }
  Bytes& tensor(std::string_view name, const std::vector<uint64_t>& dimensions, uint32_t type, uint64_t offset) {
    text(name).add(static_cast<uint32_t>(dimensions.size()));
    for (const uint64_t dimension : dimensions) add(dimension);
    return add(type).add(offset);
  }
  Bytes& data(size_t count) {
    text_.resize((text_.size() + 31) / 32 * 32);
    text_.append(count, '\0');
    return *this;
  }
  std::string error() const {
    return error_of([&] { const GgufFile file(std::as_bytes(std::span(text_)), "x.gguf"); });
  }

 private:
  std::string text_;
};

Bytes with_tensor(const std::vector<uint64_t>& dimensions, uint32_t type, uint64_t offset = 0, size_t data = 64) {
  return Bytes().counts(1, 0).tensor("t", dimensions, type, offset).data(data);
}

std::vector<float> whole_numbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i) - 3;
  return values;
}

}  // namespace

TEST_CASE("what is written as GGUF is read", "[gguf]") {
  const TemporaryFolder folder;
  const auto path = folder / "a.gguf";
  GgufPairs pairs;
  pairs.add_integer("a.whole", 4000000000u);
  pairs.add_number("a.number", 0.5f);
  pairs.add_boolean("a.switch", true);
  pairs.add_text("a.text", "caf\xC3\xA9");
  pairs.add_integers("a.list", std::vector<int32_t>{-1, 2});
  pairs.add_numbers("a.numbers", std::vector<float>{1.5f});
  pairs.add_texts("a.texts", std::vector<std::string>{"", "b c"});
  pairs.add_bytes("a.bytes", std::string_view("\0\1", 2));
  const auto values = whole_numbers(6), more = whole_numbers(32);
  write_gguf(path, pairs,
             {{"m", gguf_tensor_type("F32"), {2, 3}, [&] { return std::as_bytes(std::span(values)); }},
              {"v", gguf_tensor_type("F32"), {32}, [&] { return std::as_bytes(std::span(more)); }}});
  const GgufFile file(path);
  const GgufMetadata& metadata = file.metadata();
  CHECK(metadata.integer("a.whole", 0, INT64_MAX) == 4000000000);
  CHECK(metadata.number("a.number", 0, 1) == 0.5);
  CHECK(metadata.number("a.whole", 0, 1e10) == 4e9);
  CHECK(metadata.boolean("a.switch"));
  CHECK(metadata.text("a.text") == "caf\xC3\xA9");
  CHECK(metadata.integers("a.list", -1, 2) == std::vector<int64_t>{-1, 2});
  CHECK(metadata.numbers("a.numbers", 0, 2) == std::vector<double>{1.5});
  CHECK(metadata.texts("a.texts") == std::vector<std::string_view>{"", "b c"});
  CHECK(metadata.bytes("a.bytes") == std::string("\0\1", 2));
  CHECK(metadata.integer_or("none", 7, 0, 9) == 7);
  REQUIRE(file.tensors().size() == 2);
  CHECK(file.tensors()[0].shape == std::vector<int64_t>{2, 3});
  CHECK(std::memcmp(file.tensors()[0].bytes.data(), values.data(), 24) == 0);

  const std::string name = path.generic_string();
  CHECK(error_of([&] { metadata.integer("none", 0, 9); }) == name + ": key none is missing");
  CHECK(error_of([&] { metadata.integer("a.whole", 0, 9); }) == name + ": key a.whole is 4000000000, not from 0 to 9");
  CHECK(error_of([&] { metadata.integer("a.text", 0, 9); }) ==
        name + ": key a.text is of type string, not a whole number");
  CHECK_THAT(error_of([&] { metadata.text("a.texts"); }), ContainsSubstring("key a.texts is an array, not one value"));
  CHECK_THAT(error_of([&] { metadata.texts("a.list"); }), ContainsSubstring("has values of type i32, not strings"));
  CHECK_THAT(error_of([&] { metadata.boolean("a.number"); }), ContainsSubstring("of type f32, not a boolean"));
  const auto twice = [&] {
    return std::vector<GgufSource>(
        2, {"m", gguf_tensor_type("F32"), {6}, [&] { return std::as_bytes(std::span(values)); }});
  };
  CHECK_THAT(error_of([&] { write_gguf(folder / "b.gguf", pairs, twice()); }), ContainsSubstring("\"m\" is taken"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"a.gguf"});
}

TEST_CASE("GGUF headers that can't be are refused in one line", "[gguf]") {
  CHECK_THAT(Bytes().text("GGML").error(), ContainsSubstring("x.gguf: not a GGUF file"));
  CHECK_THAT(Bytes().magic().error(), ContainsSubstring("needs 8 bytes, 0 are left"));
  CHECK_THAT(Bytes().counts(0, UINT64_MAX).error(), ContainsSubstring("pairs of metadata are more than"));
  CHECK_THAT(Bytes().counts(UINT64_MAX, 0).error(), ContainsSubstring("tensors are more than"));
  CHECK_THAT(Bytes().counts(1 << 20, 0).error(), ContainsSubstring("a tensor's name at byte 24 needs 8 bytes"));
  // Lengths and counts that would overflow.
  CHECK_THAT(Bytes().counts(0, 1).add(UINT64_MAX).error(),
             ContainsSubstring("a key at byte 32 needs 18446744073709551615"));
  CHECK_THAT(Bytes().counts(0, 1).pair("k", 8).add(UINT64_MAX - 3).error(), ContainsSubstring("are left"));
  CHECK_THAT(Bytes().counts(0, 1).pair("k", 9).add<uint32_t>(10).add(UINT64_MAX / 8 + 2).error(),
             ContainsSubstring("key k: 2305843009213693953 values do not fit into the 0 bytes"));
  CHECK_THAT(Bytes().counts(0, 1).pair("k", 9).add<uint32_t>(8).add(UINT64_MAX).error(),
             ContainsSubstring("strings do not fit"));
  CHECK_THAT(Bytes().counts(0, 1).pair("k", 9).add<uint32_t>(9).add<uint64_t>(1).error(),
             ContainsSubstring("arrays of arrays are not supported"));
  CHECK_THAT(Bytes().counts(0, 1).pair("k", 13).error(), ContainsSubstring("key k: unknown type 13"));
  CHECK_THAT(Bytes().counts(0, 1).pair("", 0).add<uint8_t>(1).error(), ContainsSubstring("a key of 0 bytes"));
  CHECK_THAT(Bytes().counts(0, 2).pair("k", 0).add<uint8_t>(1).pair("k", 0).add<uint8_t>(1).error(),
             ContainsSubstring("key k is there twice"));
  // Tensors.
  CHECK(with_tensor({16}, 0).error().empty());
  CHECK_THAT(with_tensor({}, 0).error(), ContainsSubstring("tensor \"t\": it has 0 dimensions"));
  CHECK_THAT(with_tensor({1, 1, 1, 1, 1}, 0).error(), ContainsSubstring("it has 5 dimensions"));
  CHECK_THAT(with_tensor({4, 0}, 0).error(), ContainsSubstring("a dimension is 0"));
  CHECK_THAT(with_tensor({4, UINT64_MAX}, 0).error(), ContainsSubstring("a dimension is 18446744073709551615"));
  CHECK_THAT(with_tensor({uint64_t{1} << 32, uint64_t{1} << 31, 4}, 0).error(),
             ContainsSubstring("more elements than can be"));
  CHECK_THAT(with_tensor({33}, 8).error(), ContainsSubstring("rows of 33 values are no whole blocks of Q8_0's 32"));
  CHECK_THAT(with_tensor({4}, 99).error(), ContainsSubstring("its type has the unknown number 99"));
  CHECK_THAT(with_tensor({4}, 0, 8).error(), ContainsSubstring("its offset 8 is no multiple of 32"));
  CHECK_THAT(with_tensor({17}, 0).error(),
             ContainsSubstring("its 68 bytes from byte 0 on end behind the 64 of the file"));
  CHECK_THAT(with_tensor({4}, 0, uint64_t{1} << 63).error(), ContainsSubstring("end behind"));
  CHECK_THAT(Bytes().counts(2, 0).tensor("a", {16}, 0, 0).tensor("b", {4}, 0, 32).data(64).error(),
             ContainsSubstring("tensor \"b\" overlaps another's"));
  CHECK_THAT(Bytes().counts(2, 0).tensor("a", {4}, 0, 0).tensor("a", {4}, 0, 32).data(64).error(),
             ContainsSubstring("tensor \"a\" is there twice"));
  CHECK_THAT(Bytes().counts(0, 1).pair("general.alignment", 4).add<uint32_t>(24).error(),
             ContainsSubstring("general.alignment 24 is no power of two"));
  CHECK_THAT(Bytes().counts(0, 1).pair("general.alignment", 4).add<uint32_t>(0).error(),
             ContainsSubstring("key general.alignment is 0"));
}

TEST_CASE("shards of a GGUF model are one", "[gguf]") {
  const TemporaryFolder folder;
  const auto values = whole_numbers(8);
  const auto write = [&](const char* file, int number, int count, const char* tensor) {
    GgufPairs pairs;
    pairs.add_integer("split.no", static_cast<uint32_t>(number));
    pairs.add_integer("split.count", static_cast<uint32_t>(count));
    pairs.add_integer("split.tensors.count", 2);
    write_gguf(folder / file, pairs,
               {{tensor, gguf_tensor_type("F32"), {8}, [&] { return std::as_bytes(std::span(values)); }}});
  };
  const auto error = [&](const char* file) { return error_of([&] { const GgufShards shards(folder / file); }); };
  write("m-00001-of-00002.gguf", 0, 2, "a");
  CHECK_THAT(error("m-00001-of-00002.gguf"), ContainsSubstring("m-00002-of-00002.gguf: No such file"));
  write("m-00002-of-00002.gguf", 1, 2, "b");
  const GgufShards shards(folder / "m-00002-of-00002.gguf");
  CHECK(shards.find("a") != nullptr);
  CHECK(shards.find("b") != nullptr);
  CHECK(shards.files().size() == 2);
  write("m-00002-of-00002.gguf", 0, 2, "b");
  CHECK_THAT(error("m-00001-of-00002.gguf"), ContainsSubstring("do not say that it is file 2 of 2"));
  write("m-00002-of-00002.gguf", 1, 2, "a");
  CHECK_THAT(error("m-00001-of-00002.gguf"), ContainsSubstring("tensor \"a\" is both in"));
  write("alone.gguf", 0, 2, "a");
  CHECK_THAT(error("alone.gguf"), ContainsSubstring("name it as it was"));
}
