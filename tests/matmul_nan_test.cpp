// Kernels with tiles in shared memory load the first element of an operand in place of what lies past its end. Of that
// nothing may reach a result.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "runtime/backend.h"
#include "shaders/matmul/matmul.h"
#include "tests/program_helpers.h"

using namespace vkformer;

namespace matmul_nan {
namespace {

struct Problem {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
  DType type;
};

Graph product(const Problem& p) {
  Graph graph;
  const Value a = graph.input("a", p.transpose_a ? Shape{p.k, p.m} : Shape{p.m, p.k}, p.type);
  const Value b = graph.input("b", p.transpose_b ? Shape{p.n, p.k} : Shape{p.k, p.n}, p.type);
  graph.mark_output(matmul(graph, a, b, {.transpose_a = p.transpose_a, .transpose_b = p.transpose_b}), "y");
  return graph;
}

/// Results that are numbers where the first row or column should make them none, or the other way round.
int64_t wrong_results(Backend& backend, const Problem& p, std::string_view candidate) {
  auto program = backend.compile(product(p), backend.make_store({}), {.candidate = std::string(candidate)});
  for (const auto& [name, count] : testing::RampInputs{{"a", p.m * p.k}, {"b", p.k * p.n}}) {
    std::vector<float> values = testing::ramp(count);
    values.front() = std::numeric_limits<float>::quiet_NaN();
    program->write(name, values);
  }
  program->run();
  const std::vector<float> y = program->read("y");
  int64_t wrong = 0;
  for (int64_t row = 0; row < p.m; ++row)
    for (int64_t column = 0; column < p.n; ++column)
      wrong += std::isnan(y[static_cast<size_t>(row * p.n + column)]) != (row == 0 || column == 0);
  return wrong;
}

}  // namespace
}  // namespace matmul_nan

TEST_CASE("matmul: NaN reaches the row and the column that it is in, and no others", "[device]") {
  using namespace matmul_nan;
  const auto backend = make_backend("", {.as_gpu = true});
  for (const DType type : {DType::f32, DType::f16})
    for (const Problem& p : {Problem{67, 75, 131, false, false, type}, Problem{67, 75, 130, true, false, type},
                             Problem{72, 88, 136, false, true, type}}) {
      const Graph graph = product(p);
      const Node& node = graph.nodes().front();
      for (const std::string_view candidate : node.op->candidates(node, backend->facts())) {
        if (!candidate.starts_with(type == DType::f32 ? "tile" : "matrix")) continue;
        INFO(candidate << " " << p.m << " x " << p.n << " x " << p.k);
        CHECK(wrong_results(*backend, p, candidate) == 0);
      }
    }
}
