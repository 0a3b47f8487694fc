// y = GELU(x W + b): built once as a graph, run on the best Vulkan device and on the CPU reference.

#include <cmath>

#include "runtime/backend.h"
#include "shaders/matmul/matmul.h"

using namespace vkformer;

Graph make_graph() {
  Graph graph;
  const Value x = graph.input("x", {2, 3});
  const Value weight = graph.persistent("weight", {3, 4});
  const Value bias = graph.persistent("bias", {4});
  graph.mark_output(matmul(graph, x, weight, {.bias = bias, .activation = Activation::gelu}), "y");
  return graph;
}

std::vector<float> run(Backend& backend) {
  fmt::print("{}\n", backend.describe());
  StoreLayout layout;
  layout.add_block("parameters", std::vector<StoreLayout::Part>{{"weight", {Shape{3, 4}}}, {"bias", {Shape{4}}}});
  const auto parameters = backend.make_store(layout);
  parameters->write("weight", std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  parameters->write("bias", std::vector<float>{0.1f, 0.2f, 0.3f, 0.4f});
  const auto program = backend.compile(make_graph(), parameters);  // plans memory and records the dispatches
  program->write("x", std::vector<float>{0.1f, -0.2f, 0.03f, 0.04f, -0.05f, 0.06f});
  program->run();  // as often as wanted
  return program->read("y");
}

int main() try {
  const std::vector<float> y = run(*make_backend("")), expected = run(*make_reference_backend());
  bool equal = true;
  for (size_t i = 0; i < y.size(); ++i) {
    fmt::print("y[{}] = {:8.5f}, reference {:8.5f}\n", i, y[i], expected[i]);
    equal = equal && std::abs(y[i] - expected[i]) < 1e-5f;
  }
  return equal ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
