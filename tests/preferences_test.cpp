// Pairs of texts of which one is preferred: files, batches, and direct preference optimisation's loss.

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "models/data/preference_data.h"
#include "models/data/preference_rows.h"
#include "models/score/preferences.h"
#include "models/training/log_likelihoods.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/gradient_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Texts of 4 to 9 ids, of which those behind the first two are learned, of a few pairs.
std::vector<TextPair> some_pairs(int64_t vocabulary, int64_t count) {
  std::vector<TextPair> pairs;
  for (int64_t i = 0; i < 2 * count; ++i) {
    LearnedText text{.ids = some_ids(4 + i * 5 % 6, vocabulary, 3 + 2 * i), .learned = {}};
    text.learned.resize(text.ids.size(), 1);
    text.learned[0] = text.learned[1] = 0;
    if (i % 2 == 0) pairs.emplace_back();
    pairs.back()[static_cast<size_t>(i % 2)] = std::move(text);
  }
  return pairs;
}

/// log p of a text's learned ids, of the logits [ids, V] at each.
double likelihood_of(const LearnedText& text, std::span<const float> logits, int64_t vocabulary) {
  double sum = 0;
  for (size_t t = 0; t + 1 < text.ids.size(); ++t) {
    if (text.learned[t + 1] == 0) continue;
    double all = 0;
    const auto logit = [&](int32_t id) {
      return static_cast<double>(logits[t * static_cast<size_t>(vocabulary) + static_cast<size_t>(id)]);
    };
    for (int32_t id = 0; id < vocabulary; ++id) all += std::exp(logit(id));
    sum += logit(text.ids[t + 1]) - std::log(all);
  }
  return sum;
}

std::string refused_rows(const char* content, const char* name = "rows.jsonl") {
  try {
    read_preference_rows(content, name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("rows of preferences are texts or messages", "[preferences]") {
  const PreferenceRows rows = read_preference_rows(R"({"prompt": "a", "chosen": "b", "rejected": "c"}

{"chosen": "ab", "rejected": "ac", "score": 3}
{"prompt": [{"role": "user", "content": "x"}], "chosen": [{"role": "assistant", "content": "y"}], "rejected": [{"role": "assistant", "content": "z"}]}
{"prompt": "x", "chosen": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}], "rejected": [{"role": "assistant", "content": "z"}], "tools": []}
)",
                                                   "rows.jsonl");
  REQUIRE(rows.rows.size() == 4);
  CHECK(rows.rows[0].chosen.stretches.size() == 2);
  CHECK_FALSE(rows.rows[0].rejected.stretches[0].learned);
  CHECK(rows.rows[0].rejected.stretches[1].text == "c");
  CHECK(rows.rows[1].chosen.line == 3);
  CHECK(rows.rows[1].chosen.stretches.at(0).learned);
  CHECK(rows.rows[2].chosen.messages.dump() == R"([{"role":"user","content":"x"},{"role":"assistant","content":"y"}])");
  CHECK(rows.rows[2].rejected.messages.size() == 2);
  CHECK(rows.rows[3].chosen.messages.size() == 2);
  CHECK(rows.rows[3].chosen.tools.is_array());

  CHECK_THAT(refused_rows(R"({"prompt": "a", "chosen": "b"})"),
             ContainsSubstring("rows.jsonl:1: ") && ContainsSubstring("no \"rejected\""));
  CHECK_THAT(refused_rows(R"({"chosen": "b", "rejected": ["c"]})"), ContainsSubstring("rejected"));
  CHECK_THAT(refused_rows(R"({"chosen": [{"content": "b"}], "rejected": []})"), ContainsSubstring("role"));
  CHECK_THAT(refused_rows("\n\n"), ContainsSubstring("has no rows"));
  CHECK_THAT(refused_rows("", "rows.csv"), ContainsSubstring(".jsonl"));
}

TEST_CASE("a pair's texts are neighbours in batches of pairs", "[preferences]") {
  const std::vector<TextPair> pairs = some_pairs(50, 5);
  PreferenceData data(pairs, {pairs[0]}, {.positions = 60, .pairs = 2, .seed = 1});
  const uint64_t print = data.fingerprint();
  data.set_reference(LengthData::Split::training, {{-1, -2}, {-3, -4}, {-5, -6}, {-7, -8}, {-9, -10}});
  size_t seen = 0;
  data.for_batches(LengthData::Split::training, [&](const DataBatch& batch, std::span<const uint32_t> of) {
    CHECK(batch.shape.rows % 2 == 0);
    CHECK(batch.shape.rows <= 4);
    const auto positions = static_cast<size_t>(batch.shape.positions);
    const auto &ids = batch.values("ids"), &labels = batch.values("labels"), &targets = batch.values("targets");
    const std::vector<float>& reference = batch.floats.at(0).second;
    for (size_t i = 0; i < targets.size(); ++i) CHECK(targets[i] == (i < of.size() ? 0 : ignored_target));
    for (size_t i = 0; i < of.size(); ++i, ++seen)
      for (size_t side = 0; side < 2; ++side) {
        const LearnedText& text = pairs[of[i]][side];
        const size_t row = 2 * i + side, last = text.ids.size() - 2;
        CHECK(ids[row * positions] == text.ids[0]);
        CHECK(labels[row * positions] == ignored_target);
        CHECK(ids[row * positions + last] == text.ids[last]);
        CHECK(labels[row * positions + last] == text.ids[last + 1]);
        if (last + 1 < positions) CHECK(labels[row * positions + last + 1] == ignored_target);
        CHECK(reference[row] == -static_cast<float>(2 * of[i] + side + 1));
      }
  });
  CHECK(seen == pairs.size());
  CHECK(data.fingerprint() == print);
  std::vector<TextPair> others = pairs;
  others[3][1].learned.back() = 0;
  CHECK(PreferenceData(others, {pairs[0]}, {}).fingerprint() != print);
}

TEST_CASE("the loss of preferences is that of the paper", "[preferences]") {
  const auto backend = make_backend("reference");
  Model model = model_of(small_llama);
  std::vector<TextPair> pairs = some_pairs(301, 3);
  for (TextPair& pair : pairs) pair[1] = some_pairs(301, 1)[0][1];  // the longest, so that one batch holds all
  PreferenceData data(pairs, {}, {.positions = 64, .pairs = 4});
  const PreferenceData::Likelihoods reference{{-20, -31}, {-11, -25}, {-30, -28}};
  data.set_reference(LengthData::Split::training, reference);
  REQUIRE(data.epoch() == 1);
  const DataBatch batch = data.training_batch(0);
  model.preference = Preference{.beta = 0.3};

  Trainer trainer(*backend, model, {.learning_rate = 1e-2, .warmup = 0}, batch.shape);
  for (const ParameterSpec& parameter : model.parameters)
    trainer.store().write(parameter.name, start_values(parameter, 7));
  const std::vector<float> likelihoods = LogLikelihoods(*backend, trainer).of(batch);

  // By the model's logits, of one text at a time.
  double loss = 0;
  std::vector<std::array<double, 2>> right;
  for (const TextPair& pair : pairs) {
    right.emplace_back();
    for (size_t side = 0; side < 2; ++side) {
      const auto count = std::ssize(pair[side].ids);
      Graph graph;
      graph.mark_output(add_logits(graph, model, add_inputs(graph, model, {.rows = 1, .positions = count})), "logits");
      const auto program = backend->compile(std::move(graph), trainer.shared_store());
      program->write("ids", pair[side].ids);
      program->run();
      right.back()[side] = likelihood_of(pair[side], program->read("logits"), model.vocabulary);
    }
  }
  // Rows of a batch are pairs in whatever order: by the reference that goes with each.
  for (size_t row = 0; row < 2 * pairs.size(); row += 2) {
    const auto pair = static_cast<size_t>(
        std::ranges::find(reference, batch.floats[0].second[row], [](const auto& of) { return of[0]; }) -
        reference.begin());
    double reward[2];
    for (size_t side = 0; side < 2; ++side) {
      CHECK(likelihoods[row + side] == Approx(right[pair][side]).epsilon(1e-5));
      reward[side] = 0.3 * (right[pair][side] - static_cast<double>(reference[pair][side]));
    }
    loss += std::log(1 + std::exp(reward[1] - reward[0])) / static_cast<double>(pairs.size());
  }
  CHECK(trainer.evaluate(batch.view()).value() == Approx(loss).epsilon(1e-6));
  const std::array one{batch.view()};
  CHECK(trainer.step(1, one) == Approx(loss).epsilon(1e-6));
  CHECK(trainer.evaluate(batch.view()).value() < loss);
}

TEST_CASE("gradients of preferences are those of differences", "[preferences]") {
  Model model = model_of(small_gpt2);
  model.preference = Preference{.beta = 0.5};
  const std::vector<int32_t> ids = some_ids(20, 301, 97), labels = some_ids(20, 301, 31), targets{0, 0};
  const std::vector<float> reference{-27, -29, -30, -28.5};
  const Feed feed{{"ids", ids}, {"labels", labels}, {"targets", targets}, {"reference", reference}};
  // In rows that are whole vectors, too.
  const BatchShape shape{.rows = 4, .positions = 5};
  const LossAlong loss(model, shape, feed), whole_rows(model, shape, feed, {.whole_rows = true});
  CHECK(std::ranges::equal(loss.gradient(), whole_rows.gradient(),
                           [](float a, float b) { return std::abs(a - b) < 1e-6F; }));
  const auto [slope, square] = loss.slope();
  REQUIRE(square > 1e-6);
  CHECK(slope == Approx(square).epsilon(2e-3));
}

TEST_CASE("a rewarded pair is one whose chosen text has gained more", "[preferences]") {
  const std::vector<std::array<float, 2>> now{{-10, -12}, {-9, -5}, {-3, -3}}, before{{-12, -11}, {-9, -9}, {-3, -3}};
  const PreferenceScores scores = score_preferences(now, before, 0.5);
  CHECK(scores.pairs == 3);
  CHECK(scores.accuracy == Approx(1.0 / 3));
  CHECK(scores.chosen == Approx(0.5 * 2 / 3));
  CHECK(scores.rejected == Approx(0.5 * 3 / 3));
  CHECK(scores.margin == Approx(scores.chosen - scores.rejected));
  CHECK(score_preferences({}, {}, 0.5).pairs == 0);
}
