#include "runtime/matrix_check.h"

#include "runtime/check.h"
#include "runtime/conform/conform.h"

namespace vkformer {

namespace {

struct Product {
  const char* name;
  bool transpose_a, transpose_b;
  /// More than one block of the kernel's; odd, or all rows in whole vectors, finished where they were summed.
  int64_t m, n, k;
  Shape a() const { return transpose_a ? Shape{k, m} : Shape{m, k}; }
  Shape b() const { return transpose_b ? Shape{n, k} : Shape{k, n}; }
};
constexpr Product products[] = {{"a b", false, false, 67, 65, 35},         {"a b^T", false, true, 67, 65, 35},
                                {"a^T b", true, false, 67, 65, 35},        {"a b, whole", false, false, 96, 80, 72},
                                {"a b^T, whole", false, true, 96, 80, 72}, {"a^T b, whole", true, false, 96, 80, 72}};

std::vector<float> floats(const Shape& shape, DType type, uint64_t seed) {
  const HostTensor tensor = random_tensor({.type = {shape, type}}, seed);
  return {tensor.data.begin(), tensor.data.end()};
}

/// a b + bias + residual of each product.
std::vector<std::vector<float>> results(Backend& backend, DType type, std::string_view kernel) {
  Graph graph;
  for (const Product& product : products) {
    const std::string name = product.name;
    const Value a = graph.input(name + ".a", product.a(), type), b = graph.input(name + ".b", product.b(), type);
    const Value bias = graph.input(name + ".bias", {product.n});
    const Value residual = graph.input(name + ".residual", {product.m, product.n});
    const Attributes attributes{{"transpose_a", product.transpose_a}, {"transpose_b", product.transpose_b}};
    graph.mark_output(graph.add(*find_op("matmul"), {a, b, bias, residual}, attributes)[0], name);
  }
  const auto program = backend.compile(graph, backend.make_store({}), {.candidate = std::string(kernel)});
  for (const Product& product : products) {
    const std::string name = product.name;
    program->write(name + ".a", floats(product.a(), type, 1));
    program->write(name + ".b", floats(product.b(), type, 2));
    program->write(name + ".bias", floats({product.n}, DType::f32, 3));
    program->write(name + ".residual", floats({product.m, product.n}, DType::f32, 4));
  }
  program->run();
  std::vector<std::vector<float>> read;
  for (const Product& product : products) read.push_back(program->read(product.name));
  return read;
}

}  // namespace

std::string matrix_cores_fault(Backend& backend, DType type, std::string_view kernel) {
  try {
    const auto expected = results(*make_reference_backend(), type, kernel), got = results(backend, type, kernel);
    // Sums of up to 74 terms, each at most 1: what is summed in f32 is off by less in any order, in 16 bits by more.
    for (size_t i = 0; i < got.size(); ++i)
      for (size_t at = 0; at < got[i].size(); ++at)
        check(std::abs(got[i][at] - expected[i][at]) < 1e-3F, "element {} of a product {} is {}, not {}", at,
              products[i].name, got[i][at], expected[i][at]);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace vkformer
