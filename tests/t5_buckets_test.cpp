#include "shaders/relative_bias/t5_buckets.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace vkformer {
namespace {

using Buckets = std::vector<int32_t>;

int32_t bucket(int64_t relative, bool bidirectional, int64_t buckets, int64_t max_distance) {
  return t5_buckets(relative, relative, bidirectional, buckets, max_distance).front();
}

TEST_CASE("T5 buckets in both directions") {
  // 8 for each direction, 4 of them exact; then 4 + floor(ln(d / 4) / ln(4) * 4), so 4, 5, 6, 7 begin at distances 4,
  // 5.66, 8, 11.3, and 7 is the last.
  CHECK(t5_buckets(-17, 17, true, 16, 16) == Buckets{7,  7,  7,  7,  7,  7,  6,  6,  6,  6,  5,  5,
                                                     4,  4,  3,  2,  1,  0,  9,  10, 11, 12, 12, 13,
                                                     13, 14, 14, 14, 14, 15, 15, 15, 15, 15, 15});
}

TEST_CASE("T5 buckets of a decoder") {
  // Keys behind the query are never seen and count as distance 0. 8 buckets, 4 exact; thresholds as above.
  CHECK(t5_buckets(-17, 3, false, 8, 16) == Buckets{7, 7, 7, 7, 7, 7, 6, 6, 6, 6, 5, 5, 4, 4, 3, 2, 1, 0, 0, 0, 0});
}

TEST_CASE("T5's own 32 buckets up to 128") {
  // 8 + floor(ln(d / 8) / ln(16) * 8): powers of two fall on thresholds, where the rounding of f32 decides.
  const std::pair<int64_t, int32_t> expected[] = {{7, 7},   {8, 8},   {11, 8},  {12, 9},  {15, 9},   {16, 10},
                                                  {22, 10}, {23, 11}, {31, 11}, {32, 12}, {45, 12},  {46, 13},
                                                  {63, 13}, {64, 14}, {90, 14}, {91, 15}, {127, 15}, {128, 15}};
  for (const auto& [distance, wanted] : expected) {
    CAPTURE(distance);
    CHECK(bucket(-distance, true, 32, 128) == wanted);
    CHECK(bucket(distance, true, 32, 128) == wanted + 16);
  }
  CHECK(bucket(0, true, 32, 128) == 0);
  CHECK(bucket(-1'000'000'000'000, true, 32, 128) == 15);
  // 16 + floor(ln(d / 16) / ln(8) * 16) in a decoder.
  CHECK(bucket(-15, false, 32, 128) == 15);
  CHECK(bucket(-16, false, 32, 128) == 16);
  CHECK(bucket(-18, false, 32, 128) == 16);
  CHECK(bucket(-19, false, 32, 128) == 17);
  CHECK(bucket(-32, false, 32, 128) == 21);
  CHECK(bucket(-127, false, 32, 128) == 31);
  CHECK(bucket(-4096, false, 32, 128) == 31);
}

TEST_CASE("T5 buckets that cannot be are refused") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(t5_buckets(0, 1, true, 2, 128), ContainsSubstring("2 buckets"));
  CHECK_THROWS_WITH(t5_buckets(0, 1, true, 32, 8), ContainsSubstring("max_distance 8"));
  CHECK_THROWS_WITH(t5_buckets(2, 1, true, 32, 128), ContainsSubstring("from 2 to 1"));
}

}  // namespace
}  // namespace vkformer
