#include "runtime/random.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

namespace vkformer {
namespace {

// tests/kat_vectors of Random123.
TEST_CASE("Philox4x32-10 gives the published known answers") {
  using Words = std::array<uint32_t, 4>;
  CHECK(philox4x32_10({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  constexpr uint32_t ones = 0xffffffff;
  CHECK(philox4x32_10({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform words cover [0, 1)") {
  CHECK(uniform(0) == 0);
  CHECK(uniform(0xff) == 0);
  CHECK(uniform(0xffffffff) == 1 - 0x1p-24);
}

// With 2^16 draws each bound is about five standard errors of the estimate.
TEST_CASE("uniform numbers have the right mean and variance") {
  constexpr int count = 1 << 16;
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const double u = uniform(7, 3, i);
    sum += u;
    squares += u * u;
  }
  CHECK(std::abs(sum / count - 0.5) < 0.006);
  CHECK(std::abs(squares / count - 1.0 / 3) < 0.006);
}

TEST_CASE("normal numbers have the right first four moments") {
  constexpr int count = 1 << 16;
  double moments[5] = {};
  for (uint64_t i = 0; i < count; ++i) {
    const double x = normal(7, 3, i);
    REQUIRE(std::isfinite(x));
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(x, k) / count;
  }
  CHECK(std::abs(moments[1]) < 0.02);
  CHECK(std::abs(moments[2] - 1) < 0.03);
  CHECK(std::abs(moments[3]) < 0.08);
  CHECK(std::abs(moments[4] - 3) < 0.2);
}

TEST_CASE("a random number depends on seed, stream and index, and on nothing else") {
  CHECK(normal(1, 2, 3) == normal(1, 2, 3));
  CHECK(normal(1, 2, 3) != normal(2, 2, 3));
  CHECK(normal(1, 2, 3) != normal(1, 3, 3));
  CHECK(normal(1, 2, 3) != normal(1, 2, 4));
  CHECK(normal(1, 2, 3) != normal(1, 2, 3 + (uint64_t{1} << 32)));
}

}  // namespace
}  // namespace vkformer
