#include <catch2/catch_test_macros.hpp>

#include "runtime/check.h"
#include "runtime/graph.h"

using namespace vkformer;

TEST_CASE("a shape knows its rows and columns", "[graph]") {
  const Shape shape{2, 3, 5};
  CHECK(shape.elements() == 30);
  CHECK(shape.rows() == 6);
  CHECK(shape.columns() == 5);
  CHECK(shape.to_string() == "[2, 3, 5]");
  CHECK_THROWS_AS((Shape{int64_t{1} << 40, int64_t{1} << 40}), Error);
}
