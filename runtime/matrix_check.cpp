#include "runtime/matrix_check.h"

#include "runtime/check.h"
#include "runtime/conform/conform.h"

namespace vkformer {

namespace {

/// Odd sizes, more than one block of every kernel's.
constexpr int64_t m = 67, n = 65, k = 35;

struct Layout {
  const char* name;
  bool transpose_a, transpose_b;
  Shape a() const { return transpose_a ? Shape{k, m} : Shape{m, k}; }
  Shape b() const { return transpose_b ? Shape{n, k} : Shape{k, n}; }
};

std::vector<float> floats(const Shape& shape, uint64_t seed) {
  const HostTensor tensor = random_tensor({.type = {shape, DType::f16}}, seed);
  return {tensor.data.begin(), tensor.data.end()};
}

std::vector<std::vector<float>> products(Backend& backend, std::span<const Layout> layouts) {
  Graph graph;
  for (const Layout& layout : layouts) {
    const std::string name = layout.name;
    const Value a = graph.input(name + ".a", layout.a(), DType::f16);
    const Value b = graph.input(name + ".b", layout.b(), DType::f16);
    const Attributes attributes{{"transpose_a", layout.transpose_a}, {"transpose_b", layout.transpose_b}};
    graph.mark_output(graph.add(*find_op("matmul"), {a, b}, attributes)[0], name);
  }
  const auto program = backend.compile(graph, backend.make_store({}), {.candidate = "matrix64"});
  for (const Layout& layout : layouts) {
    program->write(std::string(layout.name) + ".a", floats(layout.a(), 1));
    program->write(std::string(layout.name) + ".b", floats(layout.b(), 2));
  }
  program->run();
  std::vector<std::vector<float>> results;
  for (const Layout& layout : layouts) results.push_back(program->read(layout.name));
  return results;
}

}  // namespace

std::string matrix_cores_fault(Backend& backend) {
  constexpr Layout layouts[] = {{"a b", false, false}, {"a b^T", false, true}, {"a^T b", true, false}};
  try {
    const auto expected = products(*make_reference_backend(), layouts), got = products(backend, layouts);
    // Sums of up to 35 terms, each at most 1: what is summed in f32 is off by less in any order, in f16 by more.
    for (size_t i = 0; i < got.size(); ++i)
      for (size_t at = 0; at < got[i].size(); ++at)
        check(std::abs(got[i][at] - expected[i][at]) < 1e-3F, "element {} of a product {} is {}, not {}", at,
              layouts[i].name, got[i][at], expected[i][at]);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace vkformer
