// What an iteration's batches are for its gradient: however the same targets are spread over micro-batches, shapes and
// padding, loss and gradients are those of the mean over them all.

#include "models/training/trainer.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

constexpr int64_t all_rows = 32, most_positions = 8;

const nlohmann::json causal_config = {{"model_type", "gpt2"}, {"vocab_size", 23}, {"n_positions", 8},
                                      {"n_embd", 12},         {"n_layer", 1},     {"n_head", 3},
                                      {"embd_pdrop", 0},      {"attn_pdrop", 0},  {"resid_pdrop", 0}};
const nlohmann::json masked_config = {{"model_type", "bert"},     {"architectures", {"BertForMaskedLM"}},
                                      {"vocab_size", 23},         {"max_position_embeddings", 8},
                                      {"hidden_size", 12},        {"num_attention_heads", 3},
                                      {"num_hidden_layers", 1},   {"intermediate_size", 20},
                                      {"hidden_dropout_prob", 0}, {"attention_probs_dropout_prob", 0}};

/// Row r has 1 + r / 4 tokens: eight rows have 12, 28, 44 or 60. Every other one is a target of the masked model.
int64_t length_of(int64_t row) { return 1 + row / 4; }

/// Rows `first` .. of the data, padded to a shape; rows past `end` are nothing but padding.
struct Rows {
  BatchShape shape;
  std::vector<int32_t> ids, targets, mask;

  Rows(int64_t first, int64_t end, int64_t count, int64_t length, bool is_masked)
      : shape{.rows = count, .positions = length, .mask = is_masked} {
    for (int64_t r = first; r < first + count; ++r)
      for (int64_t t = 0; t < length; ++t) {
        const bool token = r < end && t < length_of(r);
        ids.push_back(static_cast<int32_t>(token ? (r * 7 + t * 5) % 23 : 0));
        targets.push_back(static_cast<int32_t>(token && (!is_masked || (r + t) % 2 == 0) ? (r * 3 + t) % 23 : -100));
        mask.push_back(token || t == 0);
      }
  }
  TrainingBatch batch() const {
    TrainingBatch batch{shape, {{"ids", ids}, {"targets", targets}}};
    if (shape.mask) batch.feed.emplace_back("mask", mask);
    return batch;
  }
};

struct Outcome {
  double loss = 0, evaluated = 0;
  std::vector<float> gradient;
};

Outcome outcome_of(Backend& backend, const Model& model, const std::vector<Rows>& parts) {
  std::vector<TrainingBatch> batches;
  for (const Rows& part : parts) batches.push_back(part.batch());
  // The first moment after one step without clipping is a tenth of the gradient.
  const TrainSettings settings{.accumulate = std::ssize(parts), .warmup = 0, .beta1 = 0.9, .clip = 0};
  Trainer trainer(backend, model, settings, parts[0].shape);
  initialize(trainer.store(), model.parameters, 5);
  MeanLoss evaluated;
  for (const TrainingBatch& batch : batches) evaluated.add(trainer.evaluate(batch));
  Outcome outcome{.evaluated = evaluated.value()};
  outcome.loss = trainer.step(1, batches);
  outcome.gradient = trainer.store().read(block_name("exp_avg", 0));
  return outcome;
}

void check_agrees(const Outcome& got, const Outcome& want) {
  CHECK(std::abs(got.loss - want.loss) < 1e-6 * want.loss);
  CHECK(std::abs(got.evaluated - want.evaluated) < 1e-6 * want.evaluated);
  REQUIRE(got.gradient.size() == want.gradient.size());
  double largest = 0, worst = 0;
  for (size_t i = 0; i < want.gradient.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(want.gradient[i])));
    worst = std::max(worst, std::abs(static_cast<double>(got.gradient[i]) - static_cast<double>(want.gradient[i])));
  }
  CHECK(largest > 1e-3);
  CHECK(worst < 1e-5 * largest);
}

void check_spreading(Backend& backend) {
  for (const nlohmann::json& config : {causal_config, masked_config}) {
    const Model model = model_of(config);
    const bool is_masked = model.task == Task::masked;
    const auto part = [&](int64_t first, int64_t end, int64_t count, int64_t length) {
      return Rows(first, end, count, length, is_masked);
    };
    const Outcome whole = outcome_of(backend, model, {part(0, all_rows, all_rows, most_positions)});
    CHECK(std::abs(whole.loss - whole.evaluated) < 1e-6 * whole.loss);
    check_agrees(outcome_of(backend, model,
                            {part(0, 8, 8, most_positions), part(8, 16, 8, most_positions),
                             part(16, 24, 8, most_positions), part(24, 32, 8, most_positions)}),
                 whole);
    // Short rows in a narrow batch, rows of padding, and a batch of nothing else.
    check_agrees(outcome_of(backend, model,
                            {part(0, 16, 16, 4), part(16, 24, 11, most_positions), part(24, 32, 8, most_positions),
                             part(32, 32, 2, most_positions)}),
                 whole);
  }
}

}  // namespace

TEST_CASE("micro-batches count by their targets", "[training]") { check_spreading(*make_reference_backend()); }

TEST_CASE("micro-batches count by their targets on the device", "[training][device][one_driver]") {
  check_spreading(*make_backend(""));
}

TEST_CASE("targets that can't be are refused", "[training]") {
  const Model model = model_of(causal_config);
  const std::vector<int32_t> ids(4, 1), targets{0, -100, 22, -100}, beyond{0, 1, 2, 23}, below{0, 1, 2, -1};
  const BatchShape shape{.rows = 1, .positions = 4};
  CHECK(count_targets({shape, {{"ids", ids}, {"targets", targets}}}, 23) == 2);
  auto backend = make_reference_backend();
  Trainer trainer(*backend, model, {}, shape);
  initialize(trainer.store(), model.parameters, 5);
  CHECK_THAT(error_of([&] { trainer.step(1, ids, beyond); }), ContainsSubstring("a target is 23; the model has 23"));
  CHECK_THAT(error_of([&] { trainer.evaluate(ids, below); }), ContainsSubstring("a target is -1; the model has 23"));
  CHECK_THAT(error_of([&] { trainer.step(1, Feed{{"ids", ids}}); }), ContainsSubstring("1 x 4 has no targets"));
  const std::vector<TrainingBatch> two(2, {shape, {{"ids", ids}, {"targets", targets}}});
  CHECK_THAT(error_of([&] { trainer.step(1, two); }), ContainsSubstring("2 micro-batches were given"));
  CHECK(trainer.evaluate(ids, std::vector<int32_t>(4, -100)) == 0);
}
