// What conformance tolerates. That it runs is proved by tests of the command.

#include <catch2/catch_test_macros.hpp>

#include "runtime/conform/compare.h"

using namespace vkformer;

TEST_CASE("a row of a result is held to its own numbers, but for what cancels", "[conform]") {
  HostTensor expected(TensorType{{3, 2}, DType::f32});
  expected.data = {8, -80, 20, 0, 0.01, 0.02};
  const std::vector<double> limits = row_limits(expected, 1e-5);
  REQUIRE(limits.size() == 3);
  CHECK(limits[0] == 1e-5 * 80 + 1e-7);
  CHECK(limits[1] == 1e-5 * 20 + 1e-7);
  CHECK(limits[2] == 1e-5 * 10 + 1e-7);
  expected.type.dtype = DType::bf16;
  CHECK(row_limits(expected, 1e-5) == std::vector<double>(3, 1e-5 * 80 + 1e-7));
  HostTensor scalar(TensorType{{}, DType::f32});
  scalar.data = {-2};
  CHECK(row_limits(scalar, 0.5) == std::vector<double>{1 + 1e-7});
}
