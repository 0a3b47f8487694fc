// Texts that are similar: files, batches, the loss of in-batch negatives, and how well texts are found.

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "models/data/similar_data.h"
#include "models/data/similar_rows.h"
#include "models/embedding/embedder.h"
#include "models/score/retrieval.h"
#include "models/training/trainer.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/gradient_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Rows of `each` texts with these ids.
SimilarTexts texts_of(std::vector<std::vector<int32_t>> ids, int64_t each) {
  SimilarTexts rows{.texts = {}, .each = each};
  for (const auto& text : ids) rows.texts.segments.emplace_back(text.size(), 0);
  rows.texts.ids = std::move(ids);
  return rows;
}

std::string refused_rows(const char* content) {
  return error_of([&] { read_similar_rows(content, "rows.jsonl"); });
}

Model that_embeds(const Similarity& similarity) {
  nlohmann::json config = small_bert;
  config["hidden_dropout_prob"] = config["attention_probs_dropout_prob"] = 0;
  return that_learns_similarity(without_head(model_of(config)), similarity);
}

}  // namespace

TEST_CASE("rows of similar texts have as many texts each", "[similar]") {
  const SimilarRows rows = read_similar_rows(R"({"query": "a", "positive": "b", "negative": ["c", "d"]}

{"anchor": "e", "positive": "f", "negative": ["g", "h"], "score": 1})",
                                             "rows.jsonl");
  CHECK(rows.texts == 4);
  REQUIRE(rows.rows.size() == 2);
  CHECK(rows.rows[1].texts == std::vector<std::string>{"e", "f", "g", "h"});
  CHECK(rows.rows[1].line == 3);
  CHECK(read_similar_rows(R"({"query": "a", "positive": "b"})", "rows.jsonl").texts == 2);
  CHECK(read_similar_rows(R"({"query": "a", "positive": "b", "negative": "c"})", "rows.jsonl").texts == 3);

  CHECK_THAT(refused_rows(R"({"query": "a"})"),
             ContainsSubstring("rows.jsonl:1: ") && ContainsSubstring("no \"positive\""));
  CHECK_THAT(refused_rows(R"({"positive": "a"})"), ContainsSubstring("no \"query\""));
  CHECK_THAT(
      refused_rows(
          "{\"query\": \"a\", \"positive\": \"b\"}\n{\"query\": \"a\", \"positive\": \"b\", \"negative\": \"c\"}"),
      ContainsSubstring("rows.jsonl:2: ") && ContainsSubstring("it has 1 in \"negative\", and the rows before 0"));
  CHECK_THAT(refused_rows(R"({"query": "a", "positive": "b", "negative": []})"), ContainsSubstring("a list of texts"));
  CHECK_THAT(refused_rows(R"({"query": "a", "positive": "b", "negative": [3]})"), ContainsSubstring("a list of texts"));
  CHECK_THAT(refused_rows(R"({"query": 1, "positive": "b"})"), ContainsSubstring("query"));
}

TEST_CASE("texts that are similar as well are not compared", "[similar]") {
  // Rows 0 and 1 have one query; what is similar to row 2's is what row 0 is not to find.
  SimilarTexts rows = texts_of({{7, 8}, {9}, {5}, {7, 8}, {6}, {4}, {3}, {5}, {2, 2, 2}}, 3);
  CHECK(rows.identities() == std::vector<uint32_t>{0, 1, 2, 0, 3, 4, 5, 2, 6});
  const SimilarData data(
      rows, {.texts = {}, .each = 3},
      {.batches = {.positions = 64, .most_rows = 4, .most_shapes = 1, .seed = 1}, .inputs = {.padding = 1}});
  REQUIRE(data.epoch() == 1);
  const DataBatch batch = data.training_batch(0);
  CHECK(batch.shape.rows == 9);
  CHECK(batch.tokens == 13);
  const auto positions = static_cast<size_t>(batch.shape.positions);
  const std::vector<int32_t>&ids = batch.values("ids"), &targets = batch.values("targets");
  const std::vector<float>&pooling = batch.floats.at(0).second, &apart = batch.floats.at(1).second;
  CHECK(targets == std::vector<int32_t>{0, 1, 2});
  REQUIRE(apart.size() == 3 * 6);
  std::vector<size_t> places;  // of rows 0, 1 and 2 in the batch: examples come in whatever order
  for (const int32_t first : {9, 6, 5})
    for (size_t i = 0; i < 3; ++i)
      if (ids[(3 + i) * positions] == first) places.push_back(i);
  REQUIRE(places.size() == 3);
  const auto compared = [&](size_t row, size_t other, size_t text) {
    return apart[places[row] * 6 + (text - 1) * 3 + places[other]] == 0;
  };
  for (size_t row = 0; row < 3; ++row) {
    CHECK(compared(row, row, 1));
    CHECK(compared(row, row, 2));
    CHECK(compared(row, 2, 2));
  }
  CHECK_FALSE(compared(0, 1, 1));  // similar to the same query
  CHECK_FALSE(compared(1, 0, 1));
  CHECK(compared(0, 1, 2));
  CHECK(compared(0, 2, 1));
  CHECK_FALSE(compared(2, 0, 2));  // the text that is similar to this query
  // The mean of two tokens is a half of each.
  CHECK(pooling[places[0] * positions] == 0.5F);
  CHECK(pooling[places[0] * positions + 1] == 0.5F);
  CHECK(pooling[places[0] * positions + 2] == 0);

  // What fills a batch is compared with nothing.
  const SimilarData pairs(
      rows, {.texts = {}, .each = 3},
      {.batches = {.positions = 64, .most_rows = 2, .most_shapes = 1, .seed = 1}, .inputs = {.padding = 1}});
  REQUIRE(pairs.epoch() == 2);
  int filled = 0;
  for (const DataBatch& two : {pairs.training_batch(0), pairs.training_batch(1)}) {
    REQUIRE(two.values("targets").size() == 2);
    if (two.values("targets")[1] != ignored_target) continue;
    ++filled;
    CHECK(two.values("targets")[0] == 0);
    const std::vector<float>& numbers = two.floats.at(1).second;
    CHECK(std::vector(numbers.begin(), numbers.begin() + 4) ==
          std::vector<float>{0, SimilarData::not_compared, 0, SimilarData::not_compared});
  }
  CHECK(filled == 1);
}

TEST_CASE("the loss of similar texts is that of their cosines", "[similar]") {
  const auto backend = make_backend("reference");
  for (const int64_t each : {2, 3}) {
    const Similarity learned{.texts = each, .scale = 7};
    const Model model = that_embeds(learned);
    std::vector<std::vector<int32_t>> ids;
    for (int64_t i = 0; i < 4 * each; ++i) ids.push_back(some_ids(2 + i * 5 % 7, 301, 11 + 3 * i));
    const SimilarTexts rows = texts_of(ids, each);
    const SimilarData data(rows, {.texts = {}, .each = each},
                           {.batches = {.positions = 256, .padding = 0.9, .seed = 2}, .inputs = {}});
    REQUIRE(data.epoch() == 1);
    const DataBatch batch = data.training_batch(0);
    Trainer trainer(*backend, model, {.learning_rate = 1e-2, .warmup = 0}, batch.shape);
    initialize(trainer.store(), model.parameters, 7);

    std::vector<std::vector<float>> vectors(ids.size());
    Embedder embedder(*backend, model, trainer.shared_store(), trainer.workspace(), Pooling::mean);
    embed_by_length(embedder, rows.texts, {}, 256,
                    [&](size_t text, std::vector<float> vector) { vectors[text] = std::move(vector); });
    double loss = 0;
    const auto count = static_cast<size_t>(each);
    for (size_t row = 0; row < 4; ++row) {
      double all = 0;
      const auto exponential = [&](size_t text) {
        return std::exp(7 * similarity(vectors[row * count], vectors[text]));
      };
      for (size_t text = 0; text < ids.size(); ++text)
        if (text % count != 0) all += exponential(text);
      loss -= std::log(exponential(row * count + 1) / all) / 4;
    }
    CHECK(trainer.evaluate(batch.view()).value() == Approx(loss).epsilon(1e-5));
    const std::array one{batch.view()};
    CHECK(trainer.step(1, one) == Approx(loss).epsilon(1e-5));
    CHECK(trainer.evaluate(batch.view()).value() < loss);
  }
}

TEST_CASE("gradients of similar texts are those of differences", "[similar]") {
  const Model model = that_embeds({.texts = 3, .scale = 4});
  const SimilarTexts rows =
      texts_of({{5, 9}, {7, 5, 3}, {8}, {4, 4, 6}, {2, 3}, {9, 9}, {17, 5}, {31, 30}, {6, 8, 4}}, 3);
  const SimilarData data(rows, {.texts = {}, .each = 3}, {.batches = {.positions = 64, .seed = 2}, .inputs = {}});
  const DataBatch batch = data.training_batch(0);
  const TrainingBatch view = batch.view();
  const auto [slope, square] = LossAlong(model, batch.shape, view.feed).slope();
  REQUIRE(square > 1e-6);
  CHECK(slope == Approx(square).epsilon(2e-3));
}

TEST_CASE("texts are found by their ranks", "[similar]") {
  CHECK(rank_of(std::vector<double>{0.1, 0.9, 0.5}, std::vector<uint32_t>{1}) == 1);
  CHECK(rank_of(std::vector<double>{0.1, 0.9, 0.5}, std::vector<uint32_t>{0}) == 3);
  CHECK(rank_of(std::vector<double>{0.1, 0.9, 0.5}, std::vector<uint32_t>{0, 2}) == 2);
  CHECK(rank_of(std::vector<double>{0.5, 0.5, 0.5}, std::vector<uint32_t>{1}) == 3);  // nothing was told apart
  CHECK(rank_of(std::vector<double>{0.5, 0.5, 0.1}, std::vector<uint32_t>{0, 1}) == 1);
  const RetrievalScores scores = score_ranks(std::vector<int64_t>{1, 2, 11, 10});
  CHECK(scores.accuracy_at_1 == 0.25);
  CHECK(scores.mrr == Approx((1 + 0.5 + 0.1) / 4));
  CHECK(score_ranks({}).queries == 0);

  const std::vector<std::string> queries{"Red foxes", "the a", "blue"},
      texts{"the red fox", "a fox, the FOXES", "the a"};
  const std::vector<std::vector<uint32_t>> wanted{{0}, {2}, {0}};
  // "red" and "foxes" are as rare, but the second text has more beside; a word of all texts counts nothing; none has
  // "blue".
  CHECK(ranks_by_words(queries, texts, wanted) == std::vector<int64_t>{1, 1, 3});
}
