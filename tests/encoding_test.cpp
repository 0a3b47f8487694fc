#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/safetensors.h"

using namespace vkformer;

namespace {

std::vector<float> floats_of(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry& entry = file.require(name);
  std::vector<float> values(static_cast<size_t>(entry.elements()));
  file.read_floats(entry, values);
  return values;
}

/// Bit for bit; what a NaN looks like is nobody's business.
bool same(std::span<const float> a, std::span<const float> b) {
  bool equal = a.size() == b.size();
  for (size_t i = 0; equal && i < a.size(); ++i)
    equal = std::memcmp(&a[i], &b[i], sizeof a[i]) == 0 || (std::isnan(a[i]) && std::isnan(b[i]));
  return equal;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

// tests/ggml/run recorded them, and compares a million more.
TEST_CASE("blocks are decoded and encoded as ggml does", "[encoding]") {
  const SafetensorsFile file(std::filesystem::path(VKFORMER_FIXTURES) / "blocks.safetensors");
  const std::vector<float> values = floats_of(file, "values");
  int types = 0;
  for (size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_half(dtype) && !is_blocks(dtype)) continue;
    const std::string name(name_of(dtype));
    INFO(name);
    ++types;
    const std::vector<float> expected = floats_of(file, name + ".values");
    std::vector<float> decoded(expected.size());
    decode(dtype, file.require(name + ".blocks").bytes, decoded);
    CHECK(same(decoded, expected));
    std::vector<std::byte> encoded(static_cast<size_t>(encoded_bytes(dtype, static_cast<int64_t>(values.size()))));
    encode(dtype, values, encoded);
    CHECK(same(encoded, file.require(name + ".encoded").bytes));
  }
  CHECK(types == 15);
}

TEST_CASE("what is no whole block or no number is refused", "[encoding]") {
  std::vector<float> values(256, 1);
  std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(DType::q4_k, 256)));
  CHECK_THROWS_AS(encoded_bytes(DType::q4_k, 128), Error);
  CHECK_THROWS_AS(decode(DType::q8_0, blocks, values), Error);
  CHECK_THROWS_AS(encode(DType::i32, values, std::as_writable_bytes(std::span(values))), Error);
  for (float fault : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    values[7] = fault;
    CHECK_THROWS_MATCHES(
        encode(DType::q4_k, values, blocks), Error,
        Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("q4_k holds finite numbers")));
  }
}

TEST_CASE("what no scale in 16 bits holds is refused", "[encoding]") {
  for (const DType dtype : block_types) {
    std::vector<float> values(256, 1);
    values[7] = -1e9f;
    std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(dtype, 256)));
    INFO(name_of(dtype));
    if (dtype == DType::mxfp4)
      encode(dtype, values, blocks);  // scales are powers of two
    else
      CHECK_THROWS_MATCHES(encode(dtype, values, blocks), Error,
                           Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring("too large for blocks")));
  }
}

// Where 1 / d overflows, codes are kept in their range.
TEST_CASE("the smallest numbers are encoded", "[encoding]") {
  for (const DType dtype : block_types) {
    std::vector<float> values(256, std::numeric_limits<float>::denorm_min());
    values[3] = -values[3];
    values[200] = std::numeric_limits<float>::min();
    std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(dtype, 256)));
    encode(dtype, values, blocks);
    std::vector<float> decoded(values.size());
    decode(dtype, blocks, decoded);
    for (float value : decoded) CHECK(std::abs(value) < 1e-6f);
  }
}
