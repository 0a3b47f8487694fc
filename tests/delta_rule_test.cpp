// What conformance can't see of the gated delta rule: gradients that are small beside others, and values that are no
// numbers.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>

#include "runtime/autodiff.h"
#include "runtime/backend.h"
#include "runtime/conform/conform.h"
#include "shaders/delta_gates/delta_gates.h"
#include "shaders/gated_delta_rule/gated_delta_rule.h"

using namespace vkformer;

namespace delta_rule {
namespace {

constexpr DeltaHeads heads{.key_heads = 1, .heads = 2, .key_width = 64, .value_width = 64};

using Results = std::map<std::string, std::vector<float>>;

/// Of rows [1, T], with random inputs, whose decays are about exp(-exp(rate)). `change`: of x before the run.
Results run(Backend& backend, int64_t T, float rate, const std::vector<int32_t>& texts,
            const std::function<void(std::vector<float>&)>& change = {}) {
  Graph graph;
  const Value x = graph.input("x", {1, T, heads.columns()}),
              projected = graph.input("projected", {1, T, 2 * heads.heads});
  const Value rates = graph.input("rates", {heads.heads}), offsets = graph.input("offsets", {heads.heads});
  const Value upstream = graph.input("upstream", {1, T, heads.values()});
  const Value numbers = texts.empty() ? Value{} : graph.input("texts", {1, T}, DType::i32);
  const Value y = gated_delta_rule(
      graph, {.x = x, .gates = delta_gates(graph, projected, rates, offsets), .texts = numbers, .heads = heads});
  graph.mark_output(y, "y");
  const Values of_inputs = differentiate(graph, y, upstream, Values{x, rates});
  graph.mark_output(of_inputs[0], "dx");
  graph.mark_output(of_inputs[1], "drates");
  const auto program = backend.compile(graph, backend.make_store({}));
  uint64_t seed = 1;
  for (const std::string name : {"x", "projected", "upstream"}) {
    const double most = name == "x" ? 0.2 : 1;
    const HostTensor values =
        random_tensor({.type = graph.info(graph.find(name)).type, .low = -most, .high = most}, seed++);
    std::vector<float> data(values.data.begin(), values.data.end());
    if (name == "x" && change) change(data);
    program->write(name, data);
  }
  program->write("rates", std::vector<float>(2, rate));
  program->write("offsets", std::vector<float>(2, 0.5f));
  if (!texts.empty()) program->write("texts", texts);
  program->run();
  Results results;
  for (const std::string name : {"y", "dx", "drates"}) results[name] = program->read(name);
  return results;
}

}  // namespace

// A plain sum over all later positions is 1.2 % off here, and more with longer texts.
TEST_CASE("the gradient of strong decay is no noise of what cancels", "[delta_rule][device][one_driver]") {
  for (const float rate : {0.0f, 1.6f}) {
    INFO(rate);
    const auto want = run(*make_reference_backend(), 1000, rate, {}), got = run(*make_backend(""), 1000, rate, {});
    for (size_t h = 0; h < 2; ++h)
      CHECK(std::abs(got.at("drates")[h] - want.at("drates")[h]) < 0.003 * std::abs(want.at("drates")[h]));
  }
}

TEST_CASE("what is no number in one text does not reach another of its row", "[delta_rule][device][one_driver]") {
  const std::vector<int32_t> texts{1, 1, 1, 1, 0, 2, 2, 2, 3, 3};
  const auto spoil = [](std::vector<float>& x) {
    x[static_cast<size_t>(6 * heads.columns() + 2 * heads.keys() + 1)] = std::numeric_limits<float>::quiet_NaN();
  };
  const auto backend = make_backend("");
  const auto clean = run(*backend, 10, 0, texts), spoiled = run(*backend, 10, 0, texts, spoil);
  CHECK(std::isnan(spoiled.at("y")[static_cast<size_t>(7 * heads.values() + 1)]));
  for (const auto& [name, columns] : {std::pair{"y", heads.values()}, {"dx", heads.columns()}})
    for (size_t i = 0; i < clean.at(name).size(); ++i)
      if (texts[i / static_cast<size_t>(columns)] != 2) CHECK(spoiled.at(name)[i] == clean.at(name)[i]);
}

}  // namespace delta_rule
