// Latent attention: keys and values that are formed, and rows that heads attend to as they are.

#include <catch2/catch_test_macros.hpp>

#include "models/embedding/embedder.h"
#include "models/generation/generation.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "shaders/attention/attention.h"
#include "tests/model_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

Model latent_model(DType weights = DType::f32) {
  Model model = testing::model_of(latent_config());
  store_weights_as(model, weights);
  return model;
}

/// Columns of the heads that each of the graph's attentions sees.
std::vector<int64_t> head_widths(const Graph& graph) {
  std::vector<int64_t> widths;
  for (const Node& node : graph.nodes())
    if (is_attention(node)) widths.push_back(node.integer("head_width"));
  return widths;
}

/// Behind 250 tokens, in runs of so many.
std::vector<float> logits_in_runs(Backend& backend, const Model& model, int64_t run, DType cache, int64_t rows,
                                  int64_t capacity = 400) {
  Generator generator(
      backend, model,
      {.rows = rows, .capacity = capacity, .left_padded = rows > 1, .run_positions = run * rows, .cache_type = cache});
  initialize(generator.store(), model.parameters, 7);
  const std::vector<int32_t> ids = some_ids(250 * rows, 23, 5);
  std::vector<int32_t> pads(rows > 1 ? static_cast<size_t>(rows) : 0, 0);
  if (rows > 1) pads.back() = 9;
  return generator.prefill(ids, pads);
}

}  // namespace

TEST_CASE("keys and values are formed where many positions come at once, or all begin", "[latent]") {
  const Model model = latent_model();
  const GeneratorShape shape{.capacity = 512};
  const std::vector<int64_t> formed{32, 32}, rows{80, 80};
  const auto widths = [&](const RunShape& run) { return head_widths(build_generation(model, shape, run)); };
  CHECK(widths({16, 16}) == formed);
  CHECK(widths({128, 256}) == formed);
  CHECK(widths(1) == rows);
  CHECK(prompt_run(model, shape, 40) == RunShape(64, 64));
  CHECK(prompt_run(model, shape, 128, 200) == RunShape(128, 512));
  CHECK(prompt_run(model, shape, 64, 200) == RunShape(64));
  CHECK(prompt_run(model, shape, 1, 200) == RunShape(1));
  Graph training;
  add_logits(training, model, add_inputs(training, model, {.positions = 8}));
  CHECK(head_widths(training) == formed);
}

TEST_CASE("formed or not, over caches of any type, logits are the same", "[latent][long]") {
  const auto backend = make_reference_backend();
  for (const DType weights : {DType::f32, DType::f16, DType::q8_0})
    for (const int64_t rows : {1, 2}) {
      INFO(name_of(weights) << ", " << rows << " rows");
      const Model model = latent_model(weights);
      const std::vector<float> whole = logits_in_runs(*backend, model, 512, DType::f32, rows);
      const std::vector<float> seldom = logits_in_runs(*backend, model, 8, DType::f32, rows);
      const std::vector<float> often = logits_in_runs(*backend, model, 128, DType::f32, rows);
      const std::vector<float> halves = logits_in_runs(*backend, model, 128, DType::f16, rows);
      CHECK(largest_difference(whole, seldom) < 1e-6);
      CHECK(largest_difference(whole, often) < 1e-6);
      CHECK(largest_difference(whole, logits_in_runs(*backend, model, 128, DType::f32, rows, 256)) < 1e-6);
      CHECK(largest_difference(whole, halves) < 5e-3);
    }
}

TEST_CASE("a cache of another 16-bit type than the weights leaves these as they are", "[latent]") {
  const GeneratorShape shape{.capacity = 512, .cache_type = DType::f16};
  for (const Graph graph = build_generation(latent_model(DType::bf16), shape, {128, 256});
       const Node& node : graph.nodes())
    if (node.op->name == "cast") CHECK(node.input_types[0].dtype == DType::f16);
}

TEST_CASE("weights of keys and values are stored in 16 bits without a head, too", "[latent]") {
  const Model model = without_head(latent_model());
  Model stored = model;
  store_weights_as(stored, DType::bf16);
  for (const ParameterSpec& parameter : stored.parameters)
    if (parameter.shape.rank() == 3) CHECK(parameter.dtype == DType::bf16);
}
