#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "runtime/check.h"
#include "runtime/op.h"
#include "runtime/passes/rewrite.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/embedding/embedding.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/softmax/softmax.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using Catch::Matchers::Message;
using namespace vkformer::testing;

TEST_CASE("a shape knows its rows and columns", "[graph]") {
  const Shape shape{2, 3, 5};
  CHECK(shape.elements() == 30);
  CHECK(shape.rows() == 6);
  CHECK(shape.columns() == 5);
  CHECK(shape.to_string() == "[2, 3, 5]");
  CHECK_NOTHROW((Shape{int64_t{1} << 59}));
  CHECK_THROWS_AS((Shape{int64_t{1} << 30, int64_t{1} << 30}), Error);
  CHECK_THROWS_AS((Shape{int64_t{1} << 40, int64_t{1} << 40}), Error);
}

TEST_CASE("an attribute that is set again has the new value, once", "[graph]") {
  Attributes attributes{{"scale", 2}, {"heads", 4}};
  attributes.set("scale", 3);
  attributes.set("width", 5);
  CHECK(attributes.number("scale") == 3);
  CHECK(attributes.to_string() == "scale=3 heads=4 width=5");
}

TEST_CASE("an op takes 16-bit floats only where it says so, input by input", "[graph]") {
  Graph graph;
  const Value x = graph.input("x", {3, 5}), half = graph.input("half", {3, 5}, DType::f16);
  const Value w = graph.input("w", {5, 7}, DType::f16), ids = graph.input("ids", {2}, DType::i32);
  CHECK_NOTHROW(matmul(graph, x, w));
  CHECK_NOTHROW(embedding(graph, half, ids));
  const Graph::Scope scope(graph, "h.0");
  CHECK_NOTHROW(scale(graph, half, 2));
  CHECK_THROWS_MATCHES(softmax(graph, half), Error, Message("h.0: [softmax] input 0 can't be f16; cast it to f32"));
  CHECK_THROWS_MATCHES(layer_norm(graph, x, {graph.input("gain", {5}, DType::bf16)}, {}, 1e-5f), Error,
                       Message("h.0: [layer_norm] input 1 can't be bf16; cast it to f32"));
  CHECK_THROWS_MATCHES(matmul(graph, x, w, {.bias = graph.input("bias", {7}, DType::f16)}), Error,
                       Message("h.0: [matmul] input 2 can't be f16; cast it to f32"));
  // Also an input that comes later.
  const Value y = matmul(graph, x, w), residual = graph.input("residual", {3, 7}, DType::f16);
  CHECK_THROWS_MATCHES(graph.supply(graph.info(y).producer, 3, residual), Error,
                       Message("[matmul] residual is f16, it must be f32 like y"));
}

TEST_CASE("a node tells which of its inputs could have another type", "[graph]") {
  Graph graph;
  matmul(graph, graph.input("x", {3, 5}), graph.input("w", {5, 7}));
  embedding(graph, graph.input("table", {3, 5}), graph.input("ids", {2}, DType::i32));
  const Node &product = graph.nodes()[0], &lookup = graph.nodes()[1];
  CHECK(takes(product, 1, DType::f16));
  CHECK_FALSE(takes(product, 0, DType::f16));  // a has 16 bits only when b has
  CHECK_FALSE(takes(product, 1, DType::i32));
  CHECK(takes(lookup, 0, DType::bf16));
  CHECK_FALSE(takes(lookup, 1, DType::bf16));
}

TEST_CASE("a persistent tensor has one role, and rewriting keeps it", "[graph]") {
  Graph graph;
  for (Role role :
       {Role::parameter, Role::constant, Role::cache, Role::state, Role::memory, Role::moment, Role::gradient_sum})
    graph.persistent(std::string(name_of(role)), {3}, role);
  CHECK(graph.info(graph.persistent("weight", {3})).role == Role::parameter);
  CHECK_THAT(error_of([&] { graph.persistent("cache", {3}); }),
             ContainsSubstring("'cache' is asked for as a parameter, but the graph has it as a cache"));
  const Graph copy = rewrite(graph, {.type_of =
                                         [](const ValueInfo& info) {
                                           return TensorType{info.type.shape, DType::f16};
                                         }})
                         .graph;
  REQUIRE(copy.persistents().size() == 8);
  for (Value value : graph.persistents()) {
    const ValueInfo& copied = copy.info(copy.find(graph.info(value).name));
    CHECK(copied.role == graph.info(value).role);
    CHECK(copied.type.dtype == DType::f16);
  }
}
