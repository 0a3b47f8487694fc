// Encoders with weights of 16 bits or blocks: as right as in f32, and on matrix cores where a GPU has them.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/classification/batch_logits.h"
#include "models/embedding/embedder.h"
#include "models/families/registry.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
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

Model of_fixture(const char* name) { return make_model(JsonObject::load(fixtures / name / "config.json")); }

BatchShape two_texts(const Model& model) {
  const int64_t positions = model.context > 0 ? std::min<int64_t>(model.context, 96) : 96;
  return {.rows = 2, .positions = positions, .mask = true, .segments = model.segments > 1};
}

std::shared_ptr<Store> store_of(Backend& backend, const Model& model) {
  auto store = make_model_store(backend, model);
  initialize(*store, model.parameters, 7);
  return store;
}

/// Logits of two texts, of which the second is shorter.
std::vector<float> logits_of(Backend& backend, const Model& model, const std::shared_ptr<Store>& store) {
  BatchLogits logits(backend, model, store, backend.make_workspace());
  DataBatch batch{.shape = two_texts(model)};
  const int64_t positions = batch.shape.positions;
  std::vector<int32_t> mask(static_cast<size_t>(2 * positions), 1), segments(mask.size(), 0);
  std::fill(mask.end() - 3, mask.end(), 0);
  std::fill(segments.begin() + 4, segments.begin() + positions, 1);
  std::vector<int32_t> ids = some_ids(2 * positions, model.vocabulary - 2, 5);
  for (int32_t& id : ids) id += 2;  // RoBERTa counts positions by its padding, 1
  batch.inputs = {{"ids", ids}, {"mask", mask}};
  if (batch.shape.segments) batch.inputs.emplace_back("segments", segments);
  return logits.of(batch);
}

void check_stored(const char* device, const Model& model, const WantedType& wanted, int64_t least) {
  const auto backend = make_backend(device);
  Model stored = model;
  store_weights_as(stored, wanted);
  CHECK(std::ranges::count_if(stored.parameters, [](const auto& p) { return p.dtype != DType::f32; }) >= least);
  const auto own = store_of(*backend, stored), same = store_of(*backend, model);
  for (const ParameterSpec& parameter : stored.parameters) same->write(parameter.name, own->read(parameter.name));
  const std::vector<float> got = logits_of(*backend, stored, own);
  CHECK(largest_difference(logits_of(*backend, model, same), got) < 1e-5);
}

WantedType all_of(DType type) {
  return [type](const ParameterSpec&, bool) { return type; };
}

}  // namespace

TEST_CASE("encoders with stored weights compute what the same values in f32 do", "[encoding][device][one_driver]") {
  check_stored("reference", model_of(classifier), all_of(DType::q8_0), 14);
  for (const char* device : {"reference", ""}) check_stored(device, model_of(classifier), all_of(DType::f16), 14);
}

TEST_CASE("so do all families of them, and decoders without their head", "[encoding][long]") {
  for (const char* name : {"bert_mlm", "bert_qa", "roberta_cls", "distilbert_cls", "mpnet_mlm", "electra_mlm",
                           "nomic_mlm", "deberta_mlm", "modernbert_mlm", "xlnet_cls"}) {
    INFO(name);
    check_stored("reference", of_fixture(name), all_of(DType::f16), 4);
  }
  check_stored("reference", without_head(of_fixture("llama")), all_of(DType::f16), 4);
  // As in a file of q4_k_m, where queries and keys are of another type than values: joint tensors are read in parts.
  const WantedType mixed = [](const ParameterSpec& parameter, bool) {
    return parameter.name.find("value") != std::string::npos ? DType::q8_0 : DType::f16;
  };
  check_stored("reference", model_of(classifier), mixed, 14);
}

TEST_CASE("an encoder's products and attention go to matrix cores with weights of 16 bits", "[matrix_cores]") {
  const DeviceFacts facts = device_with_matrix_cores();
  for (const Model& model : {model_of(classifier), without_head(model_of(classifier))}) {
    Model stored = model;
    store_weights_as(stored, DType::f16);
    Graph graph;
    graph.mark_output(add_logits(graph, stored, add_inputs(graph, stored, two_texts(stored))), "logits");
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
