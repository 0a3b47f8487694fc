// A score that is no number must reach the results of the queries that see its key, with every kernel: hidden, it would
// train on. What arrives is NaN, or infinite on drivers whose exp(NaN) is.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "runtime/autodiff.h"
#include "runtime/backend.h"
#include "runtime/conform/conform.h"
#include "shaders/attention/attention.h"

using namespace vkformer;

namespace attention_nan {
namespace {

constexpr int64_t heads = 2, head_width = 10, value_width = 6;
const std::vector<std::string> results = {"result", "log_sum_exp"}, gradients = {"dq", "dk"};

/// Causal attention of `queries` queries, the last of `keys` keys, and the gradients of its scores.
Graph attention_graph(int64_t queries, int64_t keys) {
  Graph graph;
  const Value q = graph.input("q", {1, queries, heads * head_width});
  const Value k = graph.input("k", {1, keys, heads * head_width});
  const Value v = graph.input("v", {1, keys, heads * value_width});
  const Value upstream = graph.input("upstream", {1, queries, heads * value_width});
  const Value result = attention(graph, {.value = q}, {.value = k}, {.value = v},
                                 {.heads = heads, .head_width = head_width, .value_width = value_width});
  graph.mark_output(result, "result");
  graph.mark_output(graph.nodes().front().outputs[1], "log_sum_exp");
  const Values inputs{q, k}, of_inputs = differentiate(graph, result, upstream, inputs);
  for (size_t i = 0; i < gradients.size(); ++i) graph.mark_output(of_inputs[i], gradients[i]);
  return graph;
}

/// The outputs where a key of the second head is no number.
std::map<std::string, std::vector<float>> run(Backend& backend, const Graph& graph, int64_t key,
                                              std::string_view candidate) {
  auto program = backend.compile(graph, backend.make_store({}), {.candidate = std::string(candidate)});
  uint64_t seed = 1;
  for (const std::string name : {"q", "k", "v", "upstream"}) {
    const HostTensor values = random_tensor({.type = graph.info(graph.find(name)).type}, seed++);
    std::vector<float> data(values.data.begin(), values.data.end());
    if (name == "k")
      data[static_cast<size_t>(key * heads * head_width + head_width + 3)] = std::numeric_limits<float>::quiet_NaN();
    program->write(name, data);
  }
  program->run();
  std::map<std::string, std::vector<float>> outputs;
  for (const auto& names : {results, gradients})
    for (const std::string& name : names) outputs[name] = program->read(name);
  return outputs;
}

/// With the legal kernels of both ops.
void check_propagation(Backend& backend, int64_t queries, int64_t keys, int64_t key) {
  const Graph graph = attention_graph(queries, keys);
  const auto want = run(*make_reference_backend(), graph, key, {});
  for (const Node& node : graph.nodes()) {
    if (!node.op->candidates) continue;
    for (const std::string_view candidate : node.op->candidates(node, backend.facts())) {
      INFO(node.op->name << " " << candidate << ", " << queries << " queries, " << keys << " keys");
      const auto got = run(backend, graph, key, candidate);
      // Elements of which only the reference, or only the device, has no number.
      const auto count = [&](const std::string& name, bool in_reference) {
        int differing = 0;
        for (size_t i = 0; i < got.at(name).size(); ++i)
          differing +=
              std::isfinite(want.at(name)[i]) != in_reference && std::isfinite(got.at(name)[i]) == in_reference;
        return differing;
      };
      for (const auto& names : {results, gradients})
        for (const std::string& name : names) {
          INFO(name);
          CHECK(count(name, true) == 0);
        }
      // Gradients of neighbours may get one, too: a weight of 0 times what is no number.
      for (const std::string& name : results) {
        INFO(name);
        CHECK(count(name, false) == 0);
      }
    }
  }
}

void check_propagation(Backend& backend) {
  check_propagation(backend, 40, 40, 21);
  check_propagation(backend, 3, 40, 38);
  check_propagation(backend, 3, 300, 298);  // decoding splits the keys over workgroups
}

}  // namespace
}  // namespace attention_nan

TEST_CASE("attention: NaN reaches the queries that see it, and no others", "[attention][device]") {
  attention_nan::check_propagation(*make_backend(""));
  attention_nan::check_propagation(*make_backend("", {.as_gpu = true}));
}
