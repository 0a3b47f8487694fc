#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "runtime/autodiff.h"
#include "runtime/backend.h"
#include "runtime/check.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/global_norm/global_norm.h"

using namespace vkformer;

TEST_CASE("gradients of all uses are added", "[autodiff]") {
  // y = gelu(x) + 3 x, so dy/dx = gelu'(x) + 3
  Graph graph;
  const Value x = graph.input("x", {2});
  const Value y = add(graph, activate(graph, Activation::gelu, x), scale(graph, x, 3));
  const Value unused = graph.input("unused", {2});
  const Values wanted{x, unused};
  const Values gradients = differentiate(graph, y, graph.input("upstream", {2}), wanted);
  REQUIRE(static_cast<bool>(gradients[0]));
  CHECK_FALSE(static_cast<bool>(gradients[1]));
  graph.mark_output(gradients[0], "dx");
  auto backend = make_reference_backend();
  auto program = backend->compile(graph, backend->make_store({}));
  program->write("x", std::vector<float>{0, 1});
  program->write("upstream", std::vector<float>{1, 10});
  program->run();
  const auto dx = program->read("dx");
  CHECK(dx[0] == Catch::Approx(3.5));
  CHECK(dx[1] == Catch::Approx(10 * (3 + 0.8413447 + 0.2419707)));
}

TEST_CASE("a way through an op without a gradient is an error that names it", "[autodiff]") {
  Graph graph;
  const Value x = graph.input("x", {2});
  const Value norm = global_norm(graph, {x});
  const Values wanted{x};
  CHECK_THROWS_AS(differentiate(graph, norm, graph.input("upstream", {1}), wanted), Error);
}
