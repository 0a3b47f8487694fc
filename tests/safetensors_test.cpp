// Safetensors: what is written, read back and refused.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

std::string error_of_safetensors(const std::string& bytes) {
  return error_of([&] { SafetensorsFile(std::as_bytes(std::span(bytes)), "x.safetensors"); });
}

std::string error_of_header(const std::string& header, size_t data_bytes) {
  return error_of_safetensors(safetensors_bytes(header, std::string(data_bytes, '\0')));
}

}  // namespace

TEST_CASE("safetensors written are read back, in any element type", "[files]") {
  const TemporaryFolder folder;
  const std::vector<float> floats = {1.5f, -0.0f, std::numeric_limits<float>::denorm_min(), INFINITY, 1e30f, 3};
  const std::vector<int64_t> longs = {-5, INT32_MAX};
  const std::vector<int32_t> ints = {7};
  const auto write = [&](const std::string& name) {
    write_safetensors(
        folder / name,
        {TensorSource::of("w \"q\"\n", {2, 3}, floats), TensorSource::of("empty", {0, 4}, std::span<const float>()),
         TensorSource::of("n", {}, ints), TensorSource::of("ids", {2}, longs)},
        {{"format", "pt"}, {"step", "12"}});
  };
  write("a");
  write("b");
  CHECK(get(folder / "a") == get(folder / "b"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"a", "b"});
  const SafetensorsFile file(folder / "a");
  std::vector<std::string> names;
  for (const TensorEntry& tensor : file.tensors()) {
    names.push_back(tensor.name);
    CHECK(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % static_cast<uintptr_t>(size_of(tensor.dtype)) == 0);
  }
  CHECK(names == std::vector<std::string>{"ids", "w \"q\"\n", "empty", "n"});
  CHECK(file.metadata().at("step") == "12");
  CHECK(file.require("w \"q\"\n").shape == std::vector<int64_t>{2, 3});
  std::vector<float> read(6);
  file.read_floats(file.require("w \"q\"\n"), read);
  CHECK(std::memcmp(read.data(), floats.data(), 24) == 0);
  std::vector<int32_t> ids(2);
  file.read_ints(file.require("ids"), ids);
  CHECK(ids == std::vector<int32_t>{-5, INT32_MAX});
  std::vector<int32_t> six(6);
  CHECK(file.find("n")->shape.empty());
  CHECK(file.find("empty")->elements() == 0);
  CHECK(file.find("absent") == nullptr);
  CHECK_THAT(error_of([&] { file.require("absent"); }), ContainsSubstring("has no tensor \"absent\" among its 4"));
  CHECK_THAT(error_of([&] { file.read_floats(file.require("ids"), std::span(read).first(2)); }),
             ContainsSubstring("is I64, not F32, F16 or BF16"));
  CHECK_THAT(error_of([&] { file.read_floats(file.require("n"), read); }), ContainsSubstring("has 1 elements, 6"));
  CHECK_THAT(error_of([&] { file.read_ints(file.require("w \"q\"\n"), six); }), ContainsSubstring("not I32 or I64"));
}

TEST_CASE("the data of a safetensors file start at a multiple of 8 bytes", "[files]") {
  const TemporaryFolder folder;
  const std::vector<float> values = {1};
  for (size_t length = 1; length <= 8; ++length) {
    write_safetensors(folder / "a", {TensorSource::of(std::string(length, 'w'), {1}, values)});
    CHECK(static_cast<uint8_t>(get(folder / "a")[0]) % 8 == 0);
  }
}

TEST_CASE("an integer that does not fit 32 bits is refused", "[files]") {
  const TemporaryFolder folder;
  const std::vector<int64_t> longs = {1, int64_t{1} << 31};
  write_safetensors(folder / "a", {TensorSource::of("ids", {2}, longs)});
  const SafetensorsFile file(folder / "a");
  std::vector<int32_t> ids(2);
  CHECK_THAT(error_of([&] { file.read_ints(file.require("ids"), ids); }),
             ContainsSubstring("element 1 of tensor \"ids\" is 2147483648"));
}

TEST_CASE("half-precision numbers convert exactly", "[files]") {
  // Every bit pattern, against the value computed from the formula; the data start at an odd address.
  std::string data;
  for (uint32_t bits = 0; bits < 65536; ++bits) data += {static_cast<char>(bits), static_cast<char>(bits >> 8)};
  const std::string header = R"({"h":{"dtype":"F16","shape":[65536],"data_offsets":[1,131073]},)"
                             R"("b":{"dtype":"BF16","shape":[65536],"data_offsets":[131073,262145]},)"
                             R"("u":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  const std::string bytes = safetensors_bytes(header, "x" + data + data);
  const SafetensorsFile file(std::as_bytes(std::span(bytes)), "x");
  const auto expected = [](uint32_t bits, int exponent_bits, int fraction_bits) {
    const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
    double value = exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
    if (exponent == (1 << exponent_bits) - 1) value = fraction == 0 ? INFINITY : NAN;
    return bits & 0x8000 ? -value : value;
  };
  std::vector<float> halves(65536);
  std::vector<float> brains(65536);
  file.read_floats(file.require("h"), halves);
  file.read_floats(file.require("b"), brains);
  int wrong = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto same = [](double a, float b) {
      return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
    };
    if (!same(expected(bits, 5, 10), halves[bits]) || !same(expected(bits, 8, 7), brains[bits])) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("damaged safetensors files are refused with a reason", "[files]") {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK(error_of_header(good, 8).empty());
  CHECK(error_of_header("{}", 0).empty());
  CHECK(error_of_header(R"({"__metadata__":{"k":"v"}})", 0).empty());
  CHECK_THAT(error_of_header(good, 7), ContainsSubstring("cut short"));
  CHECK_THAT(error_of_header(good, 9), ContainsSubstring("1 bytes follow the last tensor"));
  CHECK_THAT(error_of_safetensors("1234567"), ContainsSubstring("too few"));
  CHECK_THAT(error_of_safetensors(safetensors_bytes(good, "").substr(0, 30)), ContainsSubstring("the header needs"));
  CHECK_THAT(error_of_safetensors(std::string(8, '\xFF') + "{}"), ContainsSubstring("not a safetensors file"));
  CHECK_THAT(error_of_safetensors(std::string("\1\xE1\xF5\5\0\0\0\0", 8) + "{}"), ContainsSubstring("100000001 bytes"));
  CHECK_THAT(error_of_header("[]", 0), ContainsSubstring("not a JSON object"));
  CHECK_THAT(error_of_header("{\"a\":", 0), ContainsSubstring("not valid JSON"));
  CHECK_THAT(error_of_header("{\"a\":\"\xFF\"}", 0), ContainsSubstring("not valid JSON"));

  const auto tensor = [](const std::string& fields) { return error_of_header("{\"a\":" + fields + "}", 8); };
  CHECK_THAT(tensor("1"), ContainsSubstring("tensor \"a\": its header entry is not an object"));
  CHECK_THAT(tensor("{}"), ContainsSubstring("dtype is missing"));
  CHECK_THAT(tensor(R"({"dtype":"Q4","shape":[2],"data_offsets":[0,8]})"), ContainsSubstring("unknown dtype \"Q4\""));
  CHECK_THAT(tensor(R"({"dtype":"F32","data_offsets":[0,8]})"), ContainsSubstring("shape is missing"));
  CHECK_THAT(tensor(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), ContainsSubstring("not negative"));
  CHECK_THAT(tensor(R"({"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"), ContainsSubstring("whole numbers"));
  CHECK_THAT(tensor(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), ContainsSubstring("need 12 bytes"));
  CHECK_THAT(tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), ContainsSubstring("[begin, end]"));
  CHECK_THAT(tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"), ContainsSubstring("[begin, end]"));
  CHECK_THAT(tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]})"),
             ContainsSubstring("whole numbers"));
  // 4 * 2^32 * 2^32 * 2 wraps around to 0, 4 * (2^62 + 2) to 8.
  CHECK_THAT(tensor(R"({"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,0]})"),
             ContainsSubstring("more elements than can be"));
  CHECK_THAT(tensor(R"({"dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8]})"),
             ContainsSubstring("more elements than can be"));

  const auto pair = [](const std::string& a, const std::string& b, size_t size) {
    return error_of_header(R"({"a":{"dtype":"U8","shape":)" + a + R"(},"b":{"dtype":"U8","shape":)" + b + "}}", size);
  };
  CHECK(pair(R"([3],"data_offsets":[5,8])", R"([5],"data_offsets":[0,5])", 8).empty());
  CHECK(pair(R"([0],"data_offsets":[5,5])", R"([5],"data_offsets":[0,5])", 5).empty());
  CHECK_THAT(pair(R"([3],"data_offsets":[4,7])", R"([5],"data_offsets":[0,5])", 7),
             ContainsSubstring("\"a\" overlaps another's"));
  CHECK_THAT(pair(R"([2],"data_offsets":[6,8])", R"([5],"data_offsets":[0,5])", 8),
             ContainsSubstring("\"a\" follows a hole"));
  CHECK_THAT(error_of_header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                             1),
             ContainsSubstring("\"a\" appears twice"));
  CHECK_THAT(error_of_header(R"({"__metadata__":{"k":1}})", 0), ContainsSubstring("__metadata__ \"k\""));
  CHECK_THAT(error_of_header(R"({"__metadata__":[]})", 0), ContainsSubstring("__metadata__ must be"));
}

TEST_CASE("the safetensors writer refuses what no reader would take", "[files]") {
  const TemporaryFolder folder;
  const std::vector<float> values = {1, 2};
  const auto error = [&](std::vector<TensorSource> tensors) {
    return error_of([&] { write_safetensors(folder / "a", std::move(tensors)); });
  };
  const auto tensor = [&](const std::string& name, std::vector<int64_t> shape) {
    return TensorSource::of(name, std::move(shape), values);
  };
  CHECK_THAT(error({tensor("x", {2}), tensor("x", {2})}), ContainsSubstring("\"x\" is taken"));
  CHECK_THAT(error({tensor("__metadata__", {2})}), ContainsSubstring("\"__metadata__\" is taken"));
  CHECK_THAT(error({tensor("x", {3})}), ContainsSubstring("needs 12 bytes, 8 were given"));
  CHECK_THAT(error({tensor("x", {-2})}), ContainsSubstring("impossible"));
  CHECK_THAT(error({tensor("x", {INT64_MAX, 3})}), ContainsSubstring("impossible"));
  CHECK_THAT(error({tensor("\xFF", {2})}), ContainsSubstring("not valid UTF-8"));
  CHECK(names_in(folder.path()).empty());
}
