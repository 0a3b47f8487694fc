// Logits of vocabularies that are no whole vectors: more columns, of which the loss and its gradients know nothing.

#include "runtime/passes/whole_rows.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/training/trainer.h"
#include "models/training/training_graph.h"
#include "tests/gradient_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// Widest result of a product.
int64_t most_columns(const Graph& graph) {
  int64_t most = 0;
  for (const Node& node : graph.nodes())
    if (node.op->name == "matmul") most = std::max(most, node.out(0).columns());
  return most;
}

}  // namespace

TEST_CASE("on GPUs rows of logits are whole vectors or blocks, whatever the vocabulary", "[whole_rows]") {
  for (const nlohmann::json& config : {small_gpt2, small_llama, small_bert}) {
    const Model model = model_of(config);
    const BatchShape shape = usual_batch(model, 2, 8);
    const auto graph = [&](bool whole) {
      return build_loss_and_gradients(model, shape, false, {.whole_rows = whole}).graph;
    };
    CHECK(most_columns(graph(false)) == config["vocab_size"]);
    CHECK(most_columns(graph(true)) == 304);
    CHECK(most_columns(build_evaluation(model, shape, {.whole_rows = true})) == 304);
  }
  nlohmann::json many = small_gpt2;
  many["vocab_size"] = 50257;  // where whole blocks cost next to nothing
  const Model large = model_of(many);
  CHECK(most_columns(build_loss_and_gradients(large, usual_batch(large, 2, 8), false, {.whole_rows = true}).graph) ==
        50304);
  nlohmann::json fits = small_gpt2, small = small_gpt2;
  fits["vocab_size"] = 304;
  small["vocab_size"] = 97;  // narrower than the feed-forward's layers
  for (const nlohmann::json& config : {fits, small}) {
    const Model model = model_of(config);
    const Graph whole = build_loss_and_gradients(model, usual_batch(model, 2, 8), false, {.whole_rows = true}).graph;
    CHECK(std::ranges::none_of(whole.nodes(), [](const Node& node) { return node.op->name == "resize_rows"; }));
  }
}

TEST_CASE("losses and gradients are the same with rows of logits that are whole vectors", "[whole_rows]") {
  const auto reference = make_backend("reference");
  for (const nlohmann::json& config : {small_gpt2, small_llama, small_bert}) {
    const Model model = model_of(config);
    for (const DType products : {DType::f32, DType::bf16}) {
      const bool values = is_half(products);
      const auto plain = loss_and_gradients(*reference, model, usual_batch(model, 2, 8), {products, values});
      const auto whole = loss_and_gradients(*reference, model, usual_batch(model, 2, 8), {products, values, true});
      CHECK(largest_difference(plain, whole) < (values ? 1e-2 : 1e-6));
    }
  }
}

TEST_CASE("as on GPUs, too", "[whole_rows][device][one_driver]") {
  const Model model = model_of(small_gpt2);
  const MixedPrecision precision{.products = DType::bf16, .values = true, .whole_rows = true};
  const auto right = loss_and_gradients(*make_backend("reference"), model, usual_batch(model, 2, 8), precision);
  CHECK(largest_difference(right, loss_and_gradients(*make_backend("", {.as_gpu = true}), model,
                                                     usual_batch(model, 2, 8), precision)) < 1e-2);
}
