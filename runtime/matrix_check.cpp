#include "runtime/matrix_check.h"

#include <algorithm>
#include <cmath>

#include "runtime/check.h"
#include "runtime/conform/conform.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

namespace {

struct Product {
  const char* name;
  bool transpose_a, transpose_b;
  /// More than one of the smallest blocks, odd, or all rows in whole vectors, finished where they were summed; or the
  /// largest blocks, all of them inside.
  int64_t m, n, k;
  bool rounded = false;  ///< results are of the operands' type
  Activation activation = Activation::none;
  DType result(DType operands) const { return rounded ? operands : DType::f32; }
  Shape a() const { return transpose_a ? Shape{k, m} : Shape{m, k}; }
  Shape b() const { return transpose_b ? Shape{n, k} : Shape{k, n}; }
};
/// In blocks of every size: each layout, vectors and none, edges and insides, f32 and 16 bits. Each is a pipeline.
constexpr Product in_all_blocks[] = {{"a b", false, false, 67, 65, 35},
                                     {"a b^T, inside", false, true, 256, 256, 64},
                                     {"a^T b, rounded", true, false, 256, 256, 64, true}};
/// In blocks of one size, for all.
constexpr Product in_one_block[] = {
    {"a b^T", false, true, 67, 65, 35},        {"a^T b", true, false, 67, 65, 35},
    {"a b, whole", false, false, 96, 80, 72},  {"a b^T, whole", false, true, 96, 80, 72},
    {"a^T b, whole", true, false, 96, 80, 72}, {"a b, activated", false, false, 96, 80, 72, true, Activation::relu}};

std::vector<Product> products_for(std::string_view kernel) {
  std::vector<Product> products(std::begin(in_all_blocks), std::end(in_all_blocks));
  if (stands_for_all(kernel)) products.insert(products.end(), std::begin(in_one_block), std::end(in_one_block));
  return products;
}

std::vector<float> floats(const Shape& shape, DType type, uint64_t seed) {
  const HostTensor tensor = random_tensor({.type = {shape, type}}, seed);
  return {tensor.data.begin(), tensor.data.end()};
}

std::vector<float> residual_of(const Product& product, DType operands) {
  return floats({product.m, product.n}, product.result(operands), 4);
}

/// Loss scales live on overflows that are seen: the first column of what is rounded to f16 must not be finite, also
/// where a device would round toward zero.
std::vector<float> bias_of(const Product& product, DType operands) {
  std::vector<float> bias = floats({product.n}, DType::f32, 3);
  if (product.result(operands) == DType::f16) bias.front() = 1e5F;
  return bias;
}

/// activation(a b + bias) + residual of each product. What is rounded comes from another kernel where no matrix of the
/// device of `facts` can hold it.
std::vector<std::vector<float>> results(Backend& backend, DType type, std::string_view kernel,
                                        std::span<const Product> products, const DeviceFacts& facts) {
  Graph graph;
  for (const Product& product : products) {
    const std::string name = product.name;
    const DType result = product.result(type);
    const Value a = graph.input(name + ".a", product.a(), type), b = graph.input(name + ".b", product.b(), type);
    const Value bias = graph.input(name + ".bias", {product.n});
    const Value residual = graph.input(name + ".residual", {product.m, product.n}, result);
    const Attributes attributes{{"transpose_a", product.transpose_a},
                                {"transpose_b", product.transpose_b},
                                {"activation", static_cast<double>(product.activation)},
                                {"result", static_cast<double>(result)}};
    graph.mark_output(graph.add(*find_op("matmul"), {a, b, bias, residual}, attributes)[0], name);
    const Node& node = graph.nodes().back();
    check(product.rounded || std::ranges::count(node.op->candidates(node, facts), kernel) > 0,
          "it offers no sizes that {} can use", kernel);
  }
  const auto program = backend.compile(graph, backend.make_store({}), {.candidate = std::string(kernel)});
  for (const Product& product : products) {
    const std::string name = product.name;
    program->write(name + ".a", floats(product.a(), type, 1));
    program->write(name + ".b", floats(product.b(), type, 2));
    program->write(name + ".bias", bias_of(product, type));
    program->write(name + ".residual", residual_of(product, type));
  }
  program->run();
  std::vector<std::vector<float>> read;
  for (const Product& product : products) read.push_back(program->read(product.name));
  return read;
}

void check_products(Backend& backend, DType type, std::string_view kernel) {
  const DeviceFacts& facts = backend.facts();
  const std::vector<Product> products = products_for(kernel);
  const auto expected = results(*make_reference_backend(), type, kernel, products, facts);
  const auto got = results(backend, type, kernel, products, facts);
  for (size_t i = 0; i < got.size(); ++i) {
    const std::vector<float> residual = residual_of(products[i], type);
    for (size_t at = 0; at < got[i].size(); ++at) {
      // SwiftShader makes NaN of infinite values that it packs, which is seen as well.
      if (!std::isfinite(expected[i][at]) && !std::isfinite(got[i][at])) continue;
      // Sums of up to 74 terms, each at most 1: what is summed in f32 is off by less in any order, in 16 bits by more.
      // Rounded are the value before the activation, which the residual can all but cancel, and the result.
      const float rounding = !products[i].rounded ? 0 : type == DType::f16 ? 0x1p-10F : 0x1p-7F;
      const float largest = std::abs(expected[i][at]) + std::abs(expected[i][at] - residual[at]);
      check(std::abs(got[i][at] - expected[i][at]) < 1e-3F + 2 * rounding * largest,
            "element {} of a product {} is {}, not {}", at, products[i].name, got[i][at], expected[i][at]);
    }
  }
}

/// The conformance cases of an op whose inputs begin with these types. (A pattern's `[^]` is any character to some
/// libraries, by ECMAScript's grammar, and none to others.)
void check_cases(Backend& backend, const std::string& op, std::initializer_list<DType> types,
                 const char* kernel = "^matrix") {
  int64_t count = 0;
  std::string pattern = op;
  for (const DType type : types) pattern += fmt::format(" {}\\[[^\\]]*\\]", name_of(type));
  conform(backend, {.op = op, .pattern = pattern, .kernel = kernel}, [&](const ConformResult& result) {
    if (result.device_lost) throw DeviceLost(result.detail);
    check(result.verdict == ConformResult::Verdict::ok, "{} {}: {}", op, result.what, result.detail);
    ++count;
  });
  check(count > 0, "it offers no sizes that {} can use", op);
}

void check_attention(Backend& backend, DType type) {
  for (const char* op : {"attention", "attention_backward"}) check_cases(backend, op, {type}, "^matrix$");
}

/// Of encoded weights two types stand for all: each takes pipelines of its own, which users wait for.
void check_experts(Backend& backend, DType type) {
  check_cases(backend, "expert_matmul", {type, type});
  if (type == DType::f16)
    for (const DType blocks : {DType::mxfp4, DType::q4_k}) check_cases(backend, "expert_matmul", {type, blocks});
}

}  // namespace

std::string matrix_cores_fault(Backend& backend, DType type, std::string_view kernel) {
  try {
    if (kernel == "attention")
      check_attention(backend, type);
    else if (kernel == "wide_attention")
      check_cases(backend, "attention", {type}, "^matrix_wide$");
    else if (kernel == "wide_attention_backward")
      check_cases(backend, "attention_backward", {type}, "^matrix_wide$");
    else if (kernel == "experts")
      check_experts(backend, type);
    else
      check_products(backend, type, kernel);
    return {};
  } catch (const DeviceLost& lost) {
    throw DeviceLost(fmt::format(
        "the check of matrix cores with {} operands ended with: {}; to leave them alone, give --facts a file of "
        "`vkformer devices --json` whose matrix_shapes is []",
        name_of(type), lost.what()));
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace vkformer
