#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <functional>

#include "runtime/autodiff.h"
#include "runtime/backend.h"
#include "runtime/check.h"
#include "runtime/op.h"
#include "runtime/plan.h"
#include "runtime/verify.h"
#include "shaders/elementwise/elementwise.h"
#include "shaders/embedding/embedding.h"
#include "shaders/global_norm/global_norm.h"
#include "shaders/layer_norm/layer_norm.h"
#include "shaders/matmul/matmul.h"
#include "shaders/rms_norm/rms_norm.h"

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

TEST_CASE("an op with an addend sums gradients itself", "[autodiff]") {
  // A tied table: looked up, and multiplied with.
  Graph graph;
  const Value table = graph.persistent("table", {4, 3}), ids = graph.input("ids", {2}, DType::i32);
  const Value y = matmul(graph, embedding(graph, table, ids), table, {.transpose_b = true});
  const Value gradient = differentiate(graph, y, graph.input("upstream", {2, 4}), Values{table})[0];
  const Node& last = graph.nodes()[static_cast<size_t>(graph.info(gradient).producer)];
  CHECK(last.op->name == "embedding_backward");
  REQUIRE(last.has_input(2));
  const Value head = last.inputs[2];
  graph.mark_output(gradient, "gradient");
  int64_t sums = 0;
  for (int n : live_nodes(graph)) sums += graph.nodes()[static_cast<size_t>(n)].op->name == "add";
  CHECK(sums == 0);
  StoreLayout layout;
  layout.add_block("block", std::vector<StoreLayout::Part>{{"table", {{4, 3}, DType::f32}}});
  auto backend = make_reference_backend();
  auto store = backend->make_store(layout);
  store->write("table", std::vector<float>{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1});
  graph.mark_output(head, "head");
  auto program = backend->compile(graph, store);
  program->write("ids", std::vector<int32_t>{1, 3});
  program->write("upstream", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  program->run();
  // head: upstream^T rows; on top of it, in rows 1 and 3, upstream table.
  CHECK(program->read("head") == std::vector<float>{5, 6, 5, 6, 8, 6, 7, 10, 7, 8, 12, 8});
  CHECK(program->read("gradient") == std::vector<float>{5, 6, 5, 11, 14, 13, 7, 10, 7, 21, 26, 23});
}

namespace {

/// Gradients of <upstream, y> with respect to x by the rules, and by central differences; both on the reference.
struct Slopes {
  std::vector<float> rules, differences;
  int64_t adds = 0;  ///< `add` nodes in the graph
};

Slopes slopes_of(const Shape& shape, const std::function<Value(Graph&, Value)>& build) {
  Graph graph;
  const Value x = graph.input("x", shape);
  const Value y = build(graph, x);
  graph.mark_output(y, "y");
  const Values wanted{x};
  graph.mark_output(differentiate(graph, y, graph.input("upstream", graph.shape(y)), wanted)[0], "dx");
  verify(graph);
  Slopes slopes;
  for (const Node& node : graph.nodes()) slopes.adds += node.op->name == "add";
  auto backend = make_reference_backend();
  auto program = backend->compile(graph, backend->make_store({}));
  const auto wave = [](size_t i) { return std::sin(1.7f * static_cast<float>(i) + 0.3f); };
  std::vector<float> values(static_cast<size_t>(shape.elements())), upstream(values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = wave(i), upstream[i] = wave(3 * i + 1);
  for (Value input : graph.inputs())
    program->write(graph.info(input).name,
                   std::vector<float>(static_cast<size_t>(graph.shape(input).elements()), 0.8f));
  program->write("upstream", upstream);
  const auto loss = [&] {
    program->write("x", values);
    program->run();
    double sum = 0;
    const auto result = program->read("y");
    for (size_t i = 0; i < result.size(); ++i) sum += static_cast<double>(result[i]) * static_cast<double>(upstream[i]);
    return sum;
  };
  loss();
  slopes.rules = program->read("dx");
  for (float& value : values) {
    const float middle = value, h = 1.0f / 128;
    value = middle + h;
    const double above = loss();
    value = middle - h;
    slopes.differences.push_back(static_cast<float>((above - loss()) / (2 * static_cast<double>(h))));
    value = middle;
  }
  return slopes;
}

void check_slopes(const Slopes& slopes) {
  REQUIRE(slopes.rules.size() == slopes.differences.size());
  for (size_t i = 0; i < slopes.rules.size(); ++i)
    CHECK(slopes.rules[i] == Catch::Approx(slopes.differences[i]).epsilon(0.01).margin(0.002));
}

}  // namespace

TEST_CASE("the last kernel of a branch adds the gradient of the other branches", "[autodiff]") {
  const Shape shape{5, 7};
  SECTION("norms at the start of residual layers") {
    const Slopes slopes = slopes_of(shape, [](Graph& graph, Value x) {
      const Value gain = graph.input("gain", {7});
      const Value first = add(graph, layer_norm(graph, x, gain, {}, 0.1f), x);
      return add(graph, scale(graph, rms_norm(graph, first, gain, 0.1f), 2), first);
    });
    CHECK(slopes.adds == 2);  // those of the forward pass
    check_slopes(slopes);
  }
  SECTION("three products of one tensor") {
    const Slopes slopes = slopes_of(shape, [](Graph& graph, Value x) {
      const Value gram = matmul(graph, x, x, {.transpose_b = true});
      return matmul(graph, gram, x);
    });
    CHECK(slopes.adds == 0);
    check_slopes(slopes);
  }
  SECTION("one gradient for both inputs of a node") {
    const Slopes slopes = slopes_of(shape, [](Graph& graph, Value x) {
      const Value gain = graph.input("gain", {7});
      const Value normed = rms_norm(graph, x, gain, 0.1f);
      return add(graph, add(graph, normed, normed), x);
    });
    check_slopes(slopes);
  }
}

TEST_CASE("a way through an op without a gradient is an error that names it", "[autodiff]") {
  Graph graph;
  const Value x = graph.input("x", {2});
  const Value norm = global_norm(graph, {x});
  const Values wanted{x};
  CHECK_THROWS_AS(differentiate(graph, norm, graph.input("upstream", {1}), wanted), Error);
}
