// Permutation language modelling: what is predicted, in which order, and what each position may see.

#include "models/data/permuted.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <set>

#include "models/classification/batch_logits.h"
#include "models/parameters.h"
#include "models/score/word_accuracy.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// Token i of the text is i, so that each says where it stood.
PermutedText permuted_text(const WindowData::Settings& settings, int64_t validation = 0) {
  std::vector<int32_t> ids(5000);
  std::iota(ids.begin(), ids.end(), 0);
  return {split_text(ids, static_cast<double>(validation) / 5000), settings};
}

/// One row of a batch.
struct PermutedRow {
  std::vector<int32_t> ids, order, predicted, targets;

  PermutedRow(const DataBatch& batch, int64_t row) {
    const int64_t T = batch.shape.positions, P = batch.shape.predictions;
    const auto part = [&](const char* name, int64_t size) {
      const std::vector<int32_t>& all = batch.values(name);
      REQUIRE(std::ssize(all) == batch.shape.rows * size);
      return std::vector<int32_t>(all.begin() + row * size, all.begin() + (row + 1) * size);
    };
    ids = part("ids", T);
    predicted = part("predicted", P);
    targets = part("targets", P);
    order = part("order", T);
    while (!predicted.empty() && predicted.back() == -1) {
      CHECK(targets.back() == ignored_target);
      predicted.pop_back();
      targets.pop_back();
    }
    for (int32_t& position : predicted) position -= static_cast<int32_t>(row * T);
  }
};

}  // namespace

TEST_CASE("a sixth of all tokens is predicted, in short spans", "[permuted][long]") {
  for (const int64_t positions : {65, 72}) {
    const PermutedText data = permuted_text({.context = positions, .rows = 50});
    int64_t predicted = 0, all = 0, runs = 0;
    for (int64_t number = 0; number < 40; ++number) {
      const DataBatch batch = data.training_batch(number);
      for (const int32_t position : batch.values("predicted")) {
        predicted += position >= 0;
        const bool goes_on =
            std::ranges::find(batch.values("predicted"), position - 1) != batch.values("predicted").end();
        runs += position >= 0 && !goes_on;
      }
      all += batch.tokens;
    }
    const double share = 6 * static_cast<double>(predicted) / static_cast<double>(all);
    INFO(share);
    CHECK(std::abs(share - 1) < 0.01);
    const double length = static_cast<double>(predicted) / static_cast<double>(runs);  // of 1 to 5, and some adjoin
    CHECK(length > 2.8);
    CHECK(length < 3.6);
  }
}

TEST_CASE("predictions have one random order, and the other positions are given", "[permuted]") {
  std::set<std::vector<int32_t>> orders;
  int64_t wrong = 0;
  for (const int64_t positions : {1, 2, 7, 16, 37, 64}) {
    const PermutedText data = permuted_text({.context = positions, .rows = 20});
    for (int64_t number = 0; number < 5; ++number)
      for (int64_t r = 0; r < 20; ++r) {
        const PermutedRow row(data.training_batch(number), r);
        std::vector<int32_t> places;
        for (const int32_t position : row.predicted) places.push_back(row.order[static_cast<size_t>(position)]);
        wrong += std::ranges::count(row.order, -1) != positions - std::ssize(places);
        if (places.size() == 3) orders.insert(places);
        std::ranges::sort(places);
        for (size_t place = 0; place < places.size(); ++place) wrong += places[place] != static_cast<int32_t>(place);
      }
  }
  CHECK(wrong == 0);
  CHECK(orders.size() == 6);
}

TEST_CASE("words are given as they are, and predicted ones are the targets", "[permuted]") {
  const PermutedText data = permuted_text({.context = 23, .rows = 3});
  size_t most = 0;
  for (int64_t number = 0; number < 2000; ++number) {
    const DataBatch batch = data.training_batch(number);
    for (int64_t r = 0; r < 3; ++r) {
      const PermutedRow row(batch, r);
      for (size_t t = 1; t < row.ids.size(); ++t) REQUIRE(row.ids[t] == row.ids[t - 1] + 1);
      REQUIRE(std::ranges::is_sorted(row.predicted));
      for (size_t p = 0; p < row.predicted.size(); ++p)
        REQUIRE(row.targets[p] == row.ids[static_cast<size_t>(row.predicted[p])]);
      most = std::max(most, row.predicted.size());
    }
  }
  // 5 behind three stretches of 6: no more can be drawn, and that is.
  CHECK(PermutedText::most_predictions(23) == 8);
  CHECK(most == 8);
}

TEST_CASE("permutations follow from the seed and the number of the batch", "[permuted]") {
  const WindowData::Settings whole{.context = 31, .rows = 4, .seed = 7};
  WindowData::Settings parts = whole, other = whole;
  parts.rows = 1;
  parts.accumulate = 4;
  other.seed = 8;
  const PermutedText data = permuted_text(whole, 500);
  const PermutedText one_by_one = permuted_text(parts, 500);
  const DataBatch third = data.training_batch(3);
  CHECK(third.inputs != data.training_batch(2).inputs);
  CHECK(third.inputs == permuted_text(whole, 500).training_batch(3).inputs);
  CHECK(third.inputs != permuted_text(other, 500).training_batch(3).inputs);
  for (int64_t row = 0; row < 4; ++row) {
    const PermutedRow a(third, row), b(one_by_one.training_batch(12 + row), 0);
    CHECK(a.ids == b.ids);
    CHECK(a.predicted == b.predicted);
    CHECK(a.order == b.order);
  }
  // 16 windows of validation: each is asked for the same words, whichever are evaluated.
  REQUIRE(data.validation_batches() == 4);
  const PermutedRow first(data.validation_batch(2, 4), 0), again(one_by_one.validation_batch(1, 2), 0);
  CHECK(first.ids[0] == 4500 + 8 * 31);
  CHECK(first.ids == again.ids);
  CHECK(first.predicted == again.predicted);
  CHECK(first.order == again.order);
}

TEST_CASE("a text shorter than a window is refused", "[permuted]") {
  const auto refusal = [](size_t training, size_t validation) {
    return error_of([&] {
      PermutedText({std::vector<int32_t>(training), std::vector<int32_t>(validation)}, {.context = 10});
    });
  };
  CHECK(refusal(10, 10).empty());
  CHECK(refusal(9, 0).find("9 tokens for training, one context needs 10") != std::string::npos);
  CHECK(refusal(10, 9).find("9 tokens for validation, one context needs 10") != std::string::npos);
}

TEST_CASE("words whose logit is the largest are counted", "[permuted]") {
  const Model model = model_of(
      {{"model_type", "xlnet"}, {"vocab_size", 40}, {"d_model", 12}, {"n_head", 3}, {"n_layer", 1}, {"d_inner", 20}});
  auto backend = make_reference_backend();
  auto store = make_model_store(*backend, model);
  // Weights of zeros leave the bias: word 5 is always the likeliest.
  std::vector<float> bias(40);
  bias[5] = 1;
  store->write("lm_loss.bias", bias);
  std::vector<int32_t> ids(1000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i % 3 == 0 ? 5 : static_cast<int32_t>(i % 40);
  const PermutedText data({ids, {}}, {.context = 20, .rows = 4});
  BatchLogits logits(*backend, model, store, backend->make_workspace());
  const DataBatch batch = data.training_batch(0);
  const WordCount count = count_right_words(logits.likeliest(batch), batch.values("targets"));
  CHECK(count.right == std::ranges::count(batch.values("targets"), 5));
  CHECK(count.right > 0);
  CHECK(count.targets == count_targets(batch.view(), 40));
  CHECK(count.targets > count.right);
}
