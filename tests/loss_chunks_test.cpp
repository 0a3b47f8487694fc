// Losses over some rows of the logits after the others: the same, in less memory.

#include "runtime/passes/loss_chunks.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/training/train_settings.h"
#include "models/training/training_batch.h"
#include "runtime/files/facts_file.h"
#include "runtime/plan.h"
#include "tests/file_helpers.h"
#include "tests/gradient_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int64_t rows = 12, positions = 15;
constexpr int64_t a_third = rows * positions * 304 * 4 / 3;  // the last of three parts is smaller

/// Gemma 2's logits have a cap.
nlohmann::json small_gemma2() {
  return {{"model_type", "gemma2"},
          {"hidden_size", 24},
          {"num_attention_heads", 2},
          {"num_key_value_heads", 1},
          {"head_dim", 12},
          {"num_hidden_layers", 1},
          {"intermediate_size", 36},
          {"vocab_size", 302},
          {"max_position_embeddings", 16},
          {"sliding_window", 8},
          {"query_pre_attn_scalar", 12},
          {"final_logit_softcapping", 3.0}};
}

int64_t count_of(const Graph& graph, std::string_view op) {
  return std::ranges::count_if(graph.nodes(), [&](const Node& node) { return node.op->name == op; });
}

}  // namespace

TEST_CASE("losses in chunks have the gradients of the whole", "[loss_chunks][long]") {
  const auto reference = make_backend("reference");
  for (const nlohmann::json& config : {small_gpt2, small_llama, small_bert, small_gemma2()}) {
    INFO(config.at("model_type"));
    const Model model = model_of(config);
    const BatchShape shape = usual_batch(model, rows, positions);
    for (const DType products : {DType::f32, DType::bf16}) {
      MixedPrecision precision{products, is_half(products), true};
      const auto whole = loss_and_gradients(*reference, model, shape, precision);
      precision.most_logits = is_half(products) ? a_third / 2 : a_third;
      CHECK(count_of(build_loss_and_gradients(model, shape, false, precision).graph, "cross_entropy_backward") == 3);
      CHECK(count_of(build_evaluation(model, shape, precision), "cross_entropy") == 3);
      CHECK(largest_difference(whole, loss_and_gradients(*reference, model, shape, precision)) < 1e-6);
    }
  }
}

TEST_CASE("losses of preferences in chunks have the gradients of the whole", "[loss_chunks]") {
  const auto reference = make_backend("reference");
  for (const nlohmann::json& config : {small_gpt2, small_gemma2()}) {
    INFO(config.at("model_type"));
    Model model = model_of(config);
    model.preference = Preference{.beta = 0.1};
    for (const DType products : {DType::f32, DType::bf16}) {
      MixedPrecision precision{products, is_half(products), true};
      const auto whole = loss_and_gradients(*reference, model, usual_batch(model, rows, positions), precision);
      precision.most_logits = is_half(products) ? a_third / 2 : a_third;  // of four sequences
      const Graph graph = build_loss_and_gradients(model, usual_batch(model, rows, positions), false, precision).graph;
      CHECK(count_of(graph, "log_likelihood") == 3);
      CHECK(count_of(graph, "log_likelihood_backward") == 3);
      CHECK(largest_difference(
                whole, loss_and_gradients(*reference, model, usual_batch(model, rows, positions), precision)) < 1e-6);
    }
  }
}

TEST_CASE("log-likelihoods of long sequences are sums over their parts", "[loss_chunks]") {
  const auto reference = make_backend("reference");
  nlohmann::json config = small_llama;
  config["max_position_embeddings"] = 150;
  Model model = model_of(config);
  model.preference = Preference{.beta = 0.1};
  const BatchShape shape = usual_batch(model, 4, 150);
  MixedPrecision precision;
  const auto whole = loss_and_gradients(*reference, model, shape, precision);
  precision.most_logits = int64_t{100} * 302 * 4;  // 128 and 22 positions of each
  const Graph graph = build_loss_and_gradients(model, shape, false, precision).graph;
  CHECK(count_of(graph, "log_likelihood") == 8);
  CHECK(count_of(build_log_likelihoods(model, shape, precision), "log_likelihood") == 8);
  CHECK(largest_difference(whole, loss_and_gradients(*reference, model, shape, precision)) < 1e-6);
}

TEST_CASE("losses of preferences in chunks on a device", "[loss_chunks][device][one_driver]") {
  nlohmann::json config = small_gpt2;
  config["n_ctx"] = config["n_positions"] = 150;
  Model model = model_of(config);
  model.preference = Preference{.beta = 0.1};
  const BatchShape shape = usual_batch(model, 4, 135);  // which is no multiple of four
  const MixedPrecision precision{.whole_rows = true, .most_logits = int64_t{100} * 302 * 4};
  const auto right = loss_and_gradients(*make_backend("reference"), model, shape, precision);
  CHECK(largest_difference(right, loss_and_gradients(*make_backend(""), model, shape, precision)) < 1e-5);
}

TEST_CASE("losses in chunks on a device", "[loss_chunks][device][one_driver]") {
  const Model model = model_of(small_gpt2);
  const BatchShape shape = usual_batch(model, rows, positions);
  const MixedPrecision precision{.whole_rows = true, .most_logits = a_third};
  const auto right = loss_and_gradients(*make_backend("reference"), model, shape, precision);
  CHECK(largest_difference(right, loss_and_gradients(*make_backend(""), model, shape, precision)) < 1e-5);
}

TEST_CASE("only one chunk of logits lives at a time", "[loss_chunks]") {
  nlohmann::json config = small_gpt2;
  config["vocab_size"] = 50257;
  config["n_positions"] = config["n_ctx"] = 1024;
  const Model model = model_of(config);
  const BatchShape shape = usual_batch(model, 32, 1024);
  const DeviceFacts facts = load_facts(fixtures.parent_path() / "facts/amd-navi31.json");
  const auto needed = [&](MixedPrecision precision) {
    const Graph graph = build_loss_and_gradients(model, shape, false, precision).graph;
    StoreLayout layout;
    add_model(layout, model, parameter_blocks(model.parameters, 1u << 30));
    return plan_memory(graph, facts, layout, {}).arena_bytes();
  };
  MixedPrecision precision = TrainSettings().precision(facts);
  const int64_t most = precision.most_logits;
  CHECK(most == int64_t{1} << 30);
  CHECK(needed(precision) < 2 * most);
  precision.most_logits = 0;
  CHECK_THAT(error_of([&] { needed(precision); }), ContainsSubstring("more than one allocation"));
}

TEST_CASE("logits that somebody else reads stay whole", "[loss_chunks]") {
  const Model model = model_of(small_gpt2);
  Graph graph = build_evaluation(model, usual_batch(model, rows, positions));
  CHECK(count_of(with_loss_in_chunks(graph, a_third).graph, "cross_entropy") == 3);
  for (const Node& node : graph.nodes())
    if (node.op->name == "cross_entropy") {
      graph.mark_output(node.inputs[0], "logits");
      break;
    }
  CHECK(count_of(with_loss_in_chunks(graph, a_third).graph, "cross_entropy") == 1);
}
