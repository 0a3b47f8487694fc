// Logits of vocabularies that are no whole vectors: more columns, of which the loss and its gradients know nothing.

#include "runtime/passes/whole_rows.h"
#include "models/parameters.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "models/training/trainer.h"
#include "models/training/training_graph.h"
#include "tests/model_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

const nlohmann::json gpt2 = {{"model_type", "gpt2"}, {"n_embd", 24}, {"n_head", 3},      {"n_layer", 1},
                             {"vocab_size", 301},    {"n_ctx", 16},  {"n_positions", 16}};
const nlohmann::json untied = {{"model_type", "llama"},       {"hidden_size", 24},      {"num_attention_heads", 4},
                               {"num_key_value_heads", 2},    {"num_hidden_layers", 1}, {"intermediate_size", 36},
                               {"vocab_size", 302},           {"rms_norm_eps", 1e-5},   {"max_position_embeddings", 16},
                               {"tie_word_embeddings", false}};
/// Its head has a bias.
const nlohmann::json bert = {{"architectures", {"BertForMaskedLM"}},
                             {"model_type", "bert"},
                             {"hidden_size", 24},
                             {"num_attention_heads", 3},
                             {"num_hidden_layers", 1},
                             {"intermediate_size", 36},
                             {"vocab_size", 303},
                             {"max_position_embeddings", 16}};

/// Widest result of a product.
int64_t most_columns(const Graph& graph) {
  int64_t most = 0;
  for (const Node& node : graph.nodes())
    if (node.op->name == "matmul") most = std::max(most, node.out(0).columns());
  return most;
}

/// The loss and its gradient by parameter, in one list.
std::vector<float> loss_and_gradients(Backend& backend, const Model& model, const MixedPrecision& precision) {
  const std::vector<ParameterBlock> blocks = parameter_blocks(model.parameters, 1u << 30);
  StoreLayout layout;
  add_model(layout, model, blocks);
  const std::shared_ptr<Store> store = backend.make_store(layout);
  write_constants(*store, model);
  initialize(*store, model.parameters, 7);

  TrainingGraph training = build_loss_and_gradients(model, usual_batch(model, 2, 8), false, precision);
  Graph& graph = training.graph;
  std::vector<std::string> outputs{"loss"};
  for (size_t i = 0; i < training.gradients.size(); ++i)
    if (training.gradients[i]) graph.mark_output(training.gradients[i], outputs.emplace_back(fmt::format("{}", i)));
  const auto program = backend.compile(std::move(graph), store);
  for (Value input : program->graph().inputs()) {
    const ValueInfo& info = program->graph().info(input);
    const bool ids = info.name == "ids" || info.name == "targets";
    std::vector<int32_t> numbers = some_ids(info.type.elements(), ids ? 301 : 1, 97);
    if (info.name.ends_with("mask")) std::ranges::fill(numbers, 1);
    if (info.name == "loss_gradient")
      program->write(info.name, std::vector<float>{1});
    else
      program->write(info.name, numbers);
  }
  program->run();
  std::vector<float> results;
  for (const std::string& output : outputs) std::ranges::copy(program->read(output), std::back_inserter(results));
  return results;
}

}  // namespace

TEST_CASE("on GPUs rows of logits are whole vectors, whatever the vocabulary", "[whole_rows]") {
  for (const nlohmann::json& config : {gpt2, untied, bert}) {
    const Model model = model_of(config);
    const BatchShape shape = usual_batch(model, 2, 8);
    const auto graph = [&](bool whole) {
      return build_loss_and_gradients(model, shape, false, {.whole_rows = whole}).graph;
    };
    CHECK(most_columns(graph(false)) == config["vocab_size"]);
    CHECK(most_columns(graph(true)) == 304);
    CHECK(most_columns(build_evaluation(model, shape, {.whole_rows = true})) == 304);
  }
  nlohmann::json fits = gpt2, small = gpt2;
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
  for (const nlohmann::json& config : {gpt2, untied, bert}) {
    const Model model = model_of(config);
    for (const DType products : {DType::f32, DType::bf16}) {
      const bool values = is_half(products);
      const auto plain = loss_and_gradients(*reference, model, {products, values});
      const auto whole = loss_and_gradients(*reference, model, {products, values, true});
      CHECK(largest_difference(plain, whole) < (values ? 1e-2 : 1e-6));
    }
  }
}

TEST_CASE("as on GPUs, too", "[whole_rows][device][one_driver]") {
  const Model model = model_of(gpt2);
  const MixedPrecision precision{.products = DType::bf16, .values = true, .whole_rows = true};
  const auto right = loss_and_gradients(*make_backend("reference"), model, precision);
  CHECK(largest_difference(right, loss_and_gradients(*make_backend("", {.as_gpu = true}), model, precision)) < 1e-2);
}
