// Models whose logits are no classes of which one holds: several labels of a text, how relevant it is, numbers.

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "models/classification/classifier.h"
#include "models/data/labelled_rows.h"
#include "models/data/text_data.h"
#include "models/score/label_sets.h"
#include "models/score/numbers.h"
#include "models/training/trainer.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/gradient_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

namespace {

Model classifier_of(const char* problem, int64_t labels) {
  nlohmann::json config = small_bert;
  config["architectures"] = {"BertForSequenceClassification"};
  config["hidden_dropout_prob"] = config["attention_probs_dropout_prob"] = 0;
  config["num_labels"] = labels;
  config["problem_type"] = problem;
  return model_of(config);
}

/// Texts of 3 to 8 ids, with what is wanted of each.
TextData some_texts(const std::vector<std::vector<float>>& wanted) {
  TextData::Split rows;
  for (size_t i = 0; i < wanted.size(); ++i) {
    rows.texts.ids.push_back(some_ids(3 + static_cast<int64_t>(i) * 5 % 6, 301, 11 + 3 * static_cast<int64_t>(i)));
    rows.texts.segments.emplace_back(rows.texts.ids.back().size(), 0);
    rows.targets.emplace_back(wanted[i].size(), 0);
  }
  rows.wanted = wanted;
  return {std::move(rows),
          {},
          {.batches = {.positions = 256, .most_shapes = 1, .padding = 0.9, .seed = 2},
           .inputs = {},
           .targets = std::ssize(wanted.front())}};
}

/// Its loss on one batch, before and after a step; with the logits by which it is to be checked.
struct Learned {
  DataBatch batch;
  std::vector<std::vector<float>> logits;
  double loss = 0, after = 0;
};
Learned learn(const Model& model, const TextData& data) {
  const auto backend = make_backend("reference");
  Learned learned{.batch = data.training_batch(0)};
  Trainer trainer(*backend, model, {.learning_rate = 1e-2, .warmup = 0}, learned.batch.shape);
  initialize(trainer.store(), model.parameters, 7);
  learned.logits = Classifier(*backend, model, trainer.shared_store(), trainer.workspace()).logits_of(learned.batch);
  learned.loss = trainer.evaluate(learned.batch.view()).value();
  const std::array one{learned.batch.view()};
  CHECK(trainer.step(1, one) == Approx(learned.loss).epsilon(1e-6));
  learned.after = trainer.evaluate(learned.batch.view()).value();
  return learned;
}

std::string refused(const std::string& content) {
  return error_of([&] { read_labelled_rows(content, "x.jsonl"); });
}

}  // namespace

TEST_CASE("labels may be numbers, or lists", "[numbers]") {
  const LabelledRows numbers = read_labelled_rows("text\tlabel\na\t1\nb\t-0.25\n", "x.tsv");
  CHECK(have_numbers(numbers));
  CHECK(numbers_of_rows(numbers) == std::vector<float>{1, -0.25F});
  CHECK_FALSE(have_numbers(read_labelled_rows("text\tlabel\na\t1\nb\t2\n", "x.tsv")));
  CHECK_FALSE(have_numbers(read_labelled_rows("text\tlabel\na\t1.5\nb\tx\n", "x.tsv")));
  CHECK(error_of([] { numbers_of_rows(read_labelled_rows("text\tlabel\na\t1\nb\t2x\n", "x.tsv")); }) ==
        "x.tsv:3: the label \"2x\" is no number");
  CHECK(read_labelled_rows(R"({"text": "a", "label": 0.5})", "x.jsonl").rows[0].label == "0.5");

  const LabelledRows lists = read_labelled_rows(
      "{\"text\": \"a\", \"labels\": [\"y\", \"x\"]}\n{\"text\": \"b\", \"label\": []}\n", "x.jsonl");
  CHECK(lists.lists);
  CHECK(label_names(lists) == std::vector<std::string>{"x", "y"});
  CHECK(sets_of_rows(lists, {"x", "z", "y"}) == std::vector<std::vector<float>>{{1, 0, 1}, {0, 0, 0}});
  CHECK(sets_of_rows(read_labelled_rows("text\tlabel\na\tx\nb\ty\n", "x.tsv"), {"x", "y"}) ==
        std::vector<std::vector<float>>{{1, 0}, {0, 1}});
  CHECK_THAT(error_of([&] { sets_of_rows(lists, {"x"}); }),
             ContainsSubstring("x.jsonl:1: ") && ContainsSubstring("\"y\""));
  CHECK_THAT(refused("{\"text\": \"a\", \"label\": [\"x\"]}\n{\"text\": \"b\", \"label\": \"x\"}"),
             ContainsSubstring("x.jsonl:2: ") && ContainsSubstring("its label is no list, the rows before have lists"));
  CHECK_THAT(refused(R"({"text": "a", "label": [1]})"), ContainsSubstring("a list of strings"));
  CHECK_THAT(refused(R"({"text": "a", "label": ["x\ty"]})"), ContainsSubstring("has a tab"));
  CHECK_THAT(error_of([&] { label_names(read_labelled_rows(R"({"text": "a", "label": []})", "x.jsonl")); }),
             ContainsSubstring("no row has a label"));
}

TEST_CASE("the loss of several labels is the binary cross-entropy of each", "[numbers]") {
  const std::vector<std::vector<float>> wanted{{1, 0, 0.25F}, {0, 0, 1}, {1, 1, 0}};
  const TextData data = some_texts(wanted);
  REQUIRE(data.epoch() == 1);
  const Learned learned = learn(classifier_of("multi_label_classification", 3), data);
  const std::vector<float>& in_batch = learned.batch.floats.at(0).second;
  double loss = 0;
  for (size_t row = 0; row < 3; ++row)
    for (size_t i = 0; i < 3; ++i) {
      const double z = static_cast<double>(learned.logits[row][i]), p = 1 / (1 + std::exp(-z)),
                   w = static_cast<double>(in_batch[3 * row + i]);
      loss -= (w * std::log(p) + (1 - w) * std::log(1 - p)) / 9;
    }
  CHECK(learned.loss == Approx(loss).epsilon(1e-5));
  CHECK(learned.after < learned.loss);
}

TEST_CASE("the loss of numbers is their mean squared error", "[numbers]") {
  const TextData data = some_texts({{2}, {-1}, {0.5F}, {3}, {7}});
  const Model model = classifier_of("regression", 1);
  CHECK(model.task == Task::number);
  CHECK(model.config->at("problem_type") == "regression");
  const Learned learned = learn(model, data);
  double loss = 0;
  for (size_t row = 0; row < 5; ++row)
    loss += std::pow(static_cast<double>(learned.logits[row][0] - learned.batch.floats.at(0).second[row]), 2) / 5;
  CHECK(learned.loss == Approx(loss).epsilon(1e-5));
  CHECK(learned.after < learned.loss);
  CHECK_THAT(error_of([] { classifier_of("regression", 2); }), ContainsSubstring("of 2 numbers is not supported"));
}

TEST_CASE("rows that fill a batch do not count", "[numbers]") {
  TextData::Split rows;
  for (int32_t i = 0; i < 3; ++i) {
    rows.texts.ids.push_back({5 + i});
    rows.texts.segments.push_back({0});
    rows.targets.push_back({0, 0});
    rows.wanted.push_back({1, 0.5F});
  }
  const TextData data(std::move(rows), {}, {.batches = {.positions = 64, .most_rows = 2}, .inputs = {}, .targets = 2});
  REQUIRE(data.epoch() == 2);
  int filled = 0;
  for (const DataBatch& batch : {data.training_batch(0), data.training_batch(1)}) {
    const std::vector<int32_t>& targets = batch.values("targets");
    if (targets.back() == 0) continue;
    ++filled;
    CHECK(targets == std::vector<int32_t>{0, 0, ignored_target, ignored_target});
    CHECK(batch.floats.at(0).second == std::vector<float>{1, 0.5F, 0, 0});
    CHECK(batch.floats.at(1).second == std::vector<float>{0.5F, 0.5F, 0, 0});
  }
  CHECK(filled == 1);
}

TEST_CASE("scores of numbers", "[numbers]") {
  using Numbers = std::vector<double>;
  CHECK(mean_squared_error(Numbers{1, 2}, Numbers{1, 4}) == 2);
  CHECK(pearson_correlation(Numbers{1, 2, 3}, Numbers{2, 4, 6}) == Approx(1));
  CHECK(pearson_correlation(Numbers{1, 2, 3}, Numbers{3, 5, 1}) == Approx(-0.5));
  CHECK(pearson_correlation(Numbers{1, 1, 1}, Numbers{3, 5, 1}) == 0);
  CHECK(spearman_correlation(Numbers{1, 10, 100}, Numbers{1, 2, 3}) == Approx(1));
  // Ranks 0, 1.5, 1.5, 3 beside 0, 1, 2, 3.
  CHECK(spearman_correlation(Numbers{1, 2, 2, 3}, Numbers{1, 2, 3, 4}) == Approx(std::sqrt(0.9)));
  // Found at places 1 and 3: (1 / 1 + 2 / 3) / 2.
  CHECK(average_precision(Numbers{0.9, 0.8, 0.7, 0.1}, Numbers{1, 0, 1, 0}) == Approx((1 + 2.0 / 3) / 2));
  CHECK(average_precision(Numbers{0.5, 0.5}, Numbers{1, 0}) == 0.5);
  CHECK(average_precision(Numbers{0.5, 0.5}, Numbers{0, 0}) == 0);

  const LabelSetScores scores =
      score_label_sets(std::vector<Numbers>{{0.9, 0.2, 0}, {0.9, 0.9, 0}}, std::vector<Numbers>{{1, 0, 0}, {0, 1, 0}});
  CHECK(scores.exact == 0.5);
  CHECK(scores.micro_f1 == Approx(2 * 2.0 / 5));
  CHECK(scores.macro_f1 == Approx((2.0 / 3 + 1 + 0) / 3));
}
