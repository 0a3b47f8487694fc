// GPT-2 as a whole: training, resuming, generating.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/families/gpt2/gpt2.h"
#include "models/families/registry.h"
#include "models/generation/generation.h"
#include "models/parameters.h"
#include "models/training/trainer.h"
#include "runtime/check.h"
#include "tests/config_messages.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// Odd sizes, dropout everywhere.
Model odd_model(double dropout) {
  return make_gpt2({.vocabulary = 37,
                    .context = 19,
                    .width = 36,
                    .layers = 2,
                    .heads = 3,
                    .inner = 50,
                    .embedding_dropout = dropout,
                    .attention_dropout = dropout,
                    .residual_dropout = dropout});
}

struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<float>> weights;
};

Trained weights_of(Trainer& trainer, const Model& model, std::vector<double> losses) {
  Trained result{std::move(losses), {}};
  for (const ParameterSpec& parameter : model.parameters)
    result.weights.push_back(trainer.store().read(parameter.name));
  return result;
}

Trained train(Backend& backend, const Model& model, const BatchShape& shape, const TrainSettings& settings) {
  Trainer trainer(backend, model, settings, shape);
  initialize(trainer.store(), model.parameters, 5);
  const int64_t tokens = shape.rows * shape.positions * settings.accumulate;
  std::vector<double> losses;
  for (int64_t i = 1; i <= settings.iterations; ++i)
    losses.push_back(
        trainer.step(i, some_ids(tokens, model.vocabulary, 5 + i), some_ids(tokens, model.vocabulary, 6 + i)));
  return weights_of(trainer, model, losses);
}

double largest_difference(const Trained& a, const Trained& b) {
  double worst = 0;
  for (size_t i = 0; i < a.weights.size(); ++i)
    for (size_t k = 0; k < a.weights[i].size(); ++k)
      worst = std::max(worst, std::abs(static_cast<double>(a.weights[i][k]) - static_cast<double>(b.weights[i][k])));
  return worst;
}

}  // namespace

TEST_CASE("training with dropout on the device follows the reference", "[gpt2][device]") {
  const Model model = odd_model(0.2);
  const BatchShape shape{.rows = 2, .positions = 17};
  const TrainSettings settings{.iterations = 3, .warmup = 0};
  auto reference = make_reference_backend();
  auto device = make_backend("");
  const Trained a = train(*reference, model, shape, settings), b = train(*device, model, shape, settings);
  for (size_t i = 0; i < a.losses.size(); ++i) CHECK(std::abs(a.losses[i] - b.losses[i]) < 1e-4 * a.losses[i]);
}

TEST_CASE("two runs give the same bits", "[gpt2][device][one_driver]") {
  const Model model = odd_model(0.1);
  const BatchShape shape{.rows = 3, .positions = 19};
  const TrainSettings settings{.iterations = 4, .warmup = 1};
  auto backend = make_backend("");
  const Trained a = train(*backend, model, shape, settings), b = train(*backend, model, shape, settings);
  CHECK(a.losses == b.losses);
  CHECK(largest_difference(a, b) == 0);
}

TEST_CASE("micro-batches accumulate to the gradient of the whole batch", "[gpt2][device][one_driver]") {
  const Model model = odd_model(0);
  auto backend = make_backend("");
  const Trained whole = train(*backend, model, {.rows = 4, .positions = 19}, {.iterations = 1, .warmup = 0});
  const Trained parts =
      train(*backend, model, {.rows = 2, .positions = 19}, {.accumulate = 2, .iterations = 1, .warmup = 0});
  CHECK(std::abs(whole.losses[0] - parts.losses[0]) < 1e-5);
  // AdamW's first step is a sign: elements whose gradient is rounding noise may differ by two learning rates.
  int64_t far = 0, total = 0;
  for (size_t i = 0; i < whole.weights.size(); ++i)
    for (size_t k = 0; k < whole.weights[i].size(); ++k, ++total)
      far += std::abs(whole.weights[i][k] - parts.weights[i][k]) > 1e-5f;
  CHECK(far * 100 < total);
}

TEST_CASE("a saved and reloaded trainer continues bit for bit", "[gpt2][device][one_driver]") {
  const Model model = odd_model(0.1);
  const BatchShape shape{.rows = 2, .positions = 19};
  const TrainSettings settings{.iterations = 4, .warmup = 1};
  auto backend = make_backend("");
  const Trained undisturbed = train(*backend, model, shape, settings);
  const auto folder = std::filesystem::temp_directory_path() / "vkformer-resume-test";
  std::filesystem::create_directories(folder);
  const int64_t tokens = shape.rows * shape.positions;
  const auto ids = [&](int64_t i) { return some_ids(tokens, model.vocabulary, 5 + i); };
  const auto targets = [&](int64_t i) { return some_ids(tokens, model.vocabulary, 6 + i); };
  {
    Trainer first(*backend, model, settings, shape);
    initialize(first.store(), model.parameters, 5);
    for (int64_t i = 1; i <= 2; ++i) first.step(i, ids(i), targets(i));
    first.save(folder);
  }
  Trainer second(*backend, model, settings, shape);
  second.load(folder);
  for (int64_t i = 3; i <= 4; ++i) second.step(i, ids(i), targets(i));
  CHECK(largest_difference(weights_of(second, model, {}), undisturbed) == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("the training plan says what training allocates", "[gpt2][device][one_driver]") {
  const Model model = odd_model(0.1);
  for (int64_t accumulate : {1, 3}) {
    auto backend = make_backend("");
    TrainingPlan plan = plan_training(model, {.accumulate = accumulate}, {{.rows = 2, .positions = 19}}, *backend);
    CHECK(backend->allocated_bytes() == 0);
    Trainer trainer(*backend, std::move(plan));
    CHECK(backend->allocated_bytes() == static_cast<uint64_t>(trainer.plan().total_bytes()));
    // A further shape comes into the same store and workspace when its first batch comes.
    const auto ids = some_ids(5 * 13, model.vocabulary, 5);
    const TrainingBatch batch{{.rows = 5, .positions = 13}, {{"ids", ids}, {"targets", ids}}};
    trainer.step(1, std::vector<TrainingBatch>(static_cast<size_t>(accumulate), batch));
    CHECK(backend->allocated_bytes() == static_cast<uint64_t>(trainer.plan().total_bytes()));
    const size_t programs = trainer.plan().programs.size();
    trainer.evaluate(batch);
    CHECK(trainer.plan().programs.size() == programs);
  }
}

TEST_CASE("programs of a generator share the memory of their temporaries", "[gpt2][device][one_driver]") {
  const Model model = odd_model(0);
  auto backend = make_backend("");
  Generator generator(*backend, model);
  initialize(generator.store(), model.parameters, 5);
  auto expected = static_cast<uint64_t>(generator.store().layout().total_bytes());
  const auto ids = some_ids(model.context, model.vocabulary, 11);
  const auto first = generator.prefill(std::span(ids).first(1));
  std::vector<int64_t> workspace;
  for (const int64_t positions : {1, 8, 19}) {
    const MemoryPlan plan =
        backend->plan(build_generation(model, generator.shape(), positions), generator.store().layout());
    widen_blocks(workspace, plan.arena_blocks);
    expected += static_cast<uint64_t>(plan.step_bytes + plan.readback_bytes);
  }
  for (int64_t bytes : workspace) expected += static_cast<uint64_t>(bytes);
  generator.prefill(std::span(ids).first(8));
  generator.prefill(ids);
  CHECK(backend->allocated_bytes() == expected);
  CHECK(generator.prefill(std::span(ids).first(1)) == first);  // its memory has moved twice since
}

TEST_CASE("decoding token by token gives the logits of the whole prompt", "[gpt2][device][one_driver]") {
  const Model model = odd_model(0.1);
  auto backend = make_backend("");
  Generator generator(*backend, model);
  initialize(generator.store(), model.parameters, 5);
  const auto ids = some_ids(model.context, model.vocabulary, 11);
  for (size_t length : {size_t{2}, size_t{9}, size_t{19}}) {
    const auto whole = generator.prefill(std::span(ids).first(length));
    auto stepwise = generator.prefill(std::span(ids).first(1));
    for (size_t i = 1; i < length; ++i) stepwise = generator.decode(ids[i]);
    for (size_t v = 0; v < whole.size(); ++v) CHECK(std::abs(whole[v] - stepwise[v]) < 1e-5f);
  }
  const Counters before = generator.decode_program()->counters();
  generator.prefill(std::span(ids).first(1));
  generator.decode(ids[1]);
  const Counters after = generator.decode_program()->counters();
  CHECK(after.runs == before.runs + 2);  // a prompt of one token needs no program of its own
  CHECK(after.recorded_dispatches == before.recorded_dispatches);
  CHECK(after.allocations == before.allocations);
  CHECK_THROWS_AS(generator.prefill({}), Error);
  CHECK_THROWS_AS(generator.decode(37), Error);
  CHECK_THROWS_AS(generator.prefill(some_ids(20, 37, 1)), Error);
}

TEST_CASE("wrong configs name the file and the key", "[gpt2]") {
  const auto changed = [](const nlohmann::json& changes) {
    nlohmann::json config = {{"model_type", "gpt2"}, {"n_embd", 12}, {"n_head", 3}, {"n_layer", 1}};
    config.update(changes);
    return config;
  };
  const auto says = [&](const nlohmann::json& changes, const std::string& word) {
    check_refused(changed(changes), word);
  };
  CHECK(message_of(changed(nlohmann::json::object())) == "accepted");
  says({{"model_type", "mamba"}}, "mamba");
  says({{"model_type", 3}}, "model_type");
  says({{"n_embd", 13}}, "n_head");
  says({{"n_embd", -12}}, "n_embd");
  says({{"n_embd", 1e30}}, "n_embd");
  says({{"n_layer", 0}}, "n_layer");
  says({{"n_layer", "twelve"}}, "n_layer");
  says({{"vocab_size", int64_t{1} << 40}}, "vocab_size");
  says({{"activation_function", "mish"}}, "mish");
  says({{"layer_norm_epsilon", -1}}, "layer_norm_epsilon");
  says({{"attn_pdrop", 1.5}}, "attn_pdrop");
  says({{"n_embd", 2048}, {"n_head", 1}}, "256");
  says({{"add_cross_attention", true}}, "add_cross_attention");
}

TEST_CASE("the config that is written describes the model that was read", "[gpt2]") {
  const Model model = odd_model(0.25);
  const Model again = make_model(JsonObject::parse(model.config->dump(), "config.json"));
  CHECK(*again.config == *model.config);
  CHECK(again.parameter_count() == model.parameter_count());
}
