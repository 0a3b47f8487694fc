// Encoders with weights of 16 bits or blocks: as right as in f32, and on matrix cores where a GPU has them.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/classification/batch_logits.h"
#include "models/embedding/embedder.h"
#include "models/generation/stored_weights.h"
#include "models/parameters.h"
#include "shaders/attention/attention.h"
#include "tests/matrix_helpers.h"
#include "tests/model_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

const nlohmann::json classifier = {{"model_type", "bert"},
                                   {"architectures", {"BertForSequenceClassification"}},
                                   {"vocab_size", 23},
                                   {"hidden_size", 64},
                                   {"num_hidden_layers", 2},
                                   {"num_attention_heads", 4},
                                   {"intermediate_size", 96},
                                   {"max_position_embeddings", 128},
                                   {"type_vocab_size", 2},
                                   {"id2label", {{"0", "a"}, {"1", "b"}, {"2", "c"}}},
                                   {"label2id", {{"a", 0}, {"b", 1}, {"c", 2}}}};

constexpr int64_t rows = 2, positions = 96;

std::shared_ptr<Store> store_of(Backend& backend, const Model& model) {
  StoreLayout layout;
  add_model(layout, model, parameter_blocks(model.parameters, 1u << 30));
  auto store = backend.make_store(layout);
  write_constants(*store, model);
  initialize(*store, model.parameters, 7);
  return store;
}

/// Logits of two texts, of which the second is shorter.
std::vector<float> logits_of(Backend& backend, const Model& model, const std::shared_ptr<Store>& store) {
  BatchLogits logits(backend, model, store, backend.make_workspace());
  std::vector<int32_t> mask(static_cast<size_t>(rows * positions), 1), segments(mask.size(), 0);
  std::fill(mask.end() - 9, mask.end(), 0);
  std::fill(segments.begin() + 40, segments.begin() + 96, 1);
  const DataBatch batch{.shape = {.rows = rows, .positions = positions, .mask = true, .segments = true},
                        .inputs = {{"ids", some_ids(rows * positions, 23, 5)}, {"mask", mask}, {"segments", segments}}};
  return logits.of(batch);
}

}  // namespace

TEST_CASE("encoders with stored weights compute what the same values in f32 do", "[encoding][device][one_driver]") {
  for (const char* device : {"reference", ""})
    for (const DType dtype : {DType::f16, DType::q8_0}) {
      const auto backend = make_backend(device);
      const Model model = model_of(classifier);
      Model stored = model;
      store_weights_as(stored, dtype);
      CHECK(std::ranges::count(stored.parameters, dtype, &ParameterSpec::dtype) >= 14);
      const auto own = store_of(*backend, stored), same = store_of(*backend, model);
      for (const ParameterSpec& parameter : stored.parameters) same->write(parameter.name, own->read(parameter.name));
      const std::vector<float> got = logits_of(*backend, stored, own);
      REQUIRE(got.size() == 6);
      CHECK(largest_difference(logits_of(*backend, model, same), got) < 1e-5);
    }
}

TEST_CASE("an encoder's products and attention go to matrix cores with weights of 16 bits", "[matrix_cores]") {
  const DeviceFacts facts = device_with_matrix_cores();
  const auto reference = make_backend("reference");
  for (const Model& model : {model_of(classifier), without_head(model_of(classifier))}) {
    Model stored = model;
    store_weights_as(stored, DType::f16);
    Graph graph;
    const BatchShape shape{.rows = rows, .positions = positions, .mask = true, .segments = true};
    graph.mark_output(add_logits(graph, stored, add_inputs(graph, stored, shape)), "logits");
    graph = as_stored(std::move(graph), stored, facts);
    int64_t products = 0, attentions = 0;
    for (const Node& node : graph.nodes()) {
      if (node.op->candidates && node.op->candidates(node, facts).front().starts_with("matrix"))
        (is_attention(node) ? attentions : products) += 1;
    }
    CHECK(products >= 8);
    CHECK(attentions == 2);
  }
}
