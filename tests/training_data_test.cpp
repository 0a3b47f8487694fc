// What trainings read: windows, lines, pairs, and batches by length.

#include <algorithm>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <set>

#include "models/data/pairs.h"
#include "models/data/text_windows.h"
#include "models/training/train_settings.h"
#include "runtime/check.h"

using namespace vkformer;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Pairs of lengths from 1 to 40; ids tell which pair and side they belong to.
TokenPairs many_pairs(size_t count, int32_t first_id) {
  TokenPairs pairs;
  for (size_t i = 0; i < count; ++i) {
    const auto id = first_id + 2 * static_cast<int32_t>(i);
    pairs.sources.emplace_back(1 + i * 7 % 31, id);
    pairs.targets.emplace_back(1 + i * 11 % 40, id + 1);
  }
  return pairs;
}

PairData pair_data(uint32_t seed = 5) {
  return PairData(many_pairs(200, 10), many_pairs(23, 1000),
                  {.batches = {.positions = 120, .seed = seed}, .padding = 3, .decoder_start = 4});
}

std::span<const int32_t> input(const DataBatch& batch, std::string_view name) {
  for (const auto& [own, values] : batch.inputs)
    if (own == name) return values;
  FAIL("a batch without " << name);
  return {};
}

/// The pairs whose ids occur among the targets, each as often as it has a row.
std::multiset<int32_t> targets_of(const DataBatch& batch) {
  std::multiset<int32_t> found;
  const auto targets = input(batch, "targets");
  for (int64_t row = 0; row < batch.shape.rows; ++row)
    if (const int32_t id = targets[static_cast<size_t>(row * batch.shape.positions)]; id != ignored_target)
      found.insert(id);
  return found;
}

/// The fewest positions that `most` of these lengths can pad to, by trying all sets.
int64_t fewest_positions(const std::vector<int64_t>& counts, int64_t most) {
  const auto longest = static_cast<uint32_t>(counts.size() - 1);
  int64_t best = INT64_MAX;
  for (uint32_t set = 0; set < 1u << longest; ++set) {
    if (std::popcount(set) > most || !(set >> (longest - 1) & 1)) continue;
    int64_t positions = 0;
    for (uint32_t n = 1; n <= longest; ++n) {
      uint32_t to = n;
      while (!(set >> (to - 1) & 1)) ++to;
      positions += counts[n] * to;
    }
    best = std::min(best, positions);
  }
  return best;
}

}  // namespace

TEST_CASE("an epoch holds every pair once, in an order of its own", "[data]") {
  const PairData data = pair_data();
  std::vector<std::vector<int32_t>> orders;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    std::multiset<int32_t> seen;
    std::vector<int32_t> order;
    for (int64_t i = 0; i < data.epoch(); ++i) {
      const auto targets = targets_of(data.training_batch(epoch * data.epoch() + i));
      seen.insert(targets.begin(), targets.end());
      order.insert(order.end(), targets.begin(), targets.end());
    }
    CHECK(seen.size() == 200);
    CHECK(std::set(seen.begin(), seen.end()).size() == 200);
    orders.push_back(order);
  }
  CHECK(orders[0] != orders[1]);
}

TEST_CASE("a batch follows from the seed and its number alone", "[data]") {
  const PairData data = pair_data(), again = pair_data(), other = pair_data(6);
  const int64_t late = 3 * data.epoch() + 2;
  data.training_batch(0);
  CHECK(data.training_batch(late).inputs == again.training_batch(late).inputs);
  bool differs = false;
  for (int64_t i = 0; i < data.epoch(); ++i) differs |= data.training_batch(i).inputs != other.training_batch(i).inputs;
  CHECK(differs);
}

TEST_CASE("a pair's decoder reads its target one position late", "[data]") {
  const PairData data = pair_data();
  const DataBatch batch = data.training_batch(1);
  const auto ids = input(batch, "ids"), targets = input(batch, "targets"), source = input(batch, "source"),
             mask = input(batch, "source_mask");
  int64_t tokens = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool first = i % static_cast<size_t>(batch.shape.positions) == 0;
    if (first && targets[i] != ignored_target) CHECK(ids[i] == 4);
    if (!first && targets[i] != ignored_target) CHECK(ids[i] == targets[i - 1]);
    if (targets[i] == ignored_target) CHECK((ids[i] == 3 || targets[i - 1] == ids[i]));
    CHECK((mask[i] == 1) == (source[i] != 3));
    tokens += mask[i] + (targets[i] != ignored_target);
  }
  CHECK(batch.tokens == tokens);
  CHECK(count_targets(batch.view(), 1000) > 0);
}

TEST_CASE("validation covers its split, or an even part of it, in the shapes of training", "[data]") {
  const PairData data = pair_data();
  std::multiset<int32_t> seen;
  const int64_t all = data.validation_batches();
  for (int64_t i = 0; i < all; ++i) {
    const DataBatch batch = data.validation_batch(i, all);
    const auto targets = targets_of(batch);
    seen.insert(targets.begin(), targets.end());
    const auto shapes = data.shapes();
    CHECK(std::ranges::find(shapes, batch.shape) != shapes.end());
  }
  CHECK(seen.size() == 23);
  CHECK(data.validation_batch(1, 2).inputs == data.validation_batch(all / 2, all).inputs);
}

TEST_CASE("longer examples of validation have a shape of their own", "[data]") {
  TokenPairs validation = many_pairs(5, 1000);
  validation.sources.emplace_back(50, 2000), validation.targets.emplace_back(4, 2001);
  validation.sources.emplace_back(3, 2002), validation.targets.emplace_back(130, 2003);
  const LengthBatches::Settings batches{.positions = 300, .multiple = 4, .seed = 5};
  const PairData alone(many_pairs(200, 10), many_pairs(5, 1000), {.batches = batches, .padding = 3});
  const PairData data(many_pairs(200, 10), validation, {.batches = batches, .padding = 3});
  CHECK(data.batches().padding() == alone.batches().padding());
  CHECK(data.epoch() == alone.epoch());
  CHECK(data.training_batch(7).inputs == alone.training_batch(7).inputs);
  const LengthBatches::Bucket& longest = data.batches().buckets().back();
  CHECK(std::tuple(longest.length, longest.rows, longest.examples.size()) == std::tuple(132, 2, 0));
  CHECK(data.batches().buckets().size() == alone.batches().buckets().size() + 1);
  CHECK_THAT(data.describe("pairs"), ContainsSubstring("132 positions x    2 rows: longer ones, of validation"));
  CHECK(data.shapes() == alone.shapes());
  CHECK(alone.validation_shapes().empty());
  REQUIRE(data.validation_shapes().size() == 1);
  CHECK(data.validation_shapes()[0].positions == 132);
  const DataBatch last = data.validation_batch(data.validation_batches() - 1, data.validation_batches());
  CHECK(last.tokens == 50 + 4 + 3 + 130);
}

TEST_CASE("lengths are chosen so that little is padding", "[data]") {
  const std::vector<int64_t> counts = {0, 3, 0, 8, 1, 1, 5, 0, 2, 9, 1};
  int64_t tokens = 0;
  for (size_t n = 0; n < counts.size(); ++n) tokens += static_cast<int64_t>(n) * counts[n];
  for (int64_t most = 1; most < 6; ++most) {
    const auto lengths = choose_lengths(counts, tokens, 1, 1, most, 0);
    CHECK(std::ssize(lengths) <= most);
    int64_t positions = 0;
    for (int64_t n = 1; n < std::ssize(counts); ++n)
      positions += counts[static_cast<size_t>(n)] * *std::ranges::lower_bound(lengths, n);
    CHECK(positions == fewest_positions(counts, most));
  }
  // One length pads 115 tokens to 300 positions, two to at most half more.
  CHECK(choose_lengths(counts, tokens, 1, 1, 6, 0.9).size() == 1);
  for (int64_t length : choose_lengths(counts, tokens, 1, 4, 6, 0)) CHECK(length % 4 == 0);
}

TEST_CASE("batches keep to their budget and say what is padding", "[data]") {
  const PairData data = pair_data();
  int64_t positions = 0, tokens = 0;
  for (int64_t i = 0; i < data.epoch(); ++i) {
    const DataBatch batch = data.training_batch(i);
    CHECK(batch.shape.rows * batch.shape.positions <= 120);
    positions += batch.positions();
    tokens += batch.tokens;
  }
  CHECK(data.batches().padding() == 1 - static_cast<double>(tokens) / static_cast<double>(positions));
  CHECK(data.batches().buckets().size() <= 16);
}

TEST_CASE("windows of a text and their validation split", "[data]") {
  std::vector<int32_t> text(1000);
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<int32_t>(i);
  const TextWindows data(split_text(text, 0.1), {.context = 10, .rows = 3, .accumulate = 2, .seed = 1});
  for (int64_t number : {0, 1, 7}) {
    const DataBatch batch = data.training_batch(number);
    const auto ids = input(batch, "ids"), targets = input(batch, "targets");
    REQUIRE(ids.size() == 30);
    for (size_t i = 0; i < ids.size(); ++i) {
      CHECK(targets[i] == ids[i] + 1);
      CHECK(targets[i] < 900);
    }
  }
  CHECK(data.training_batch(0).inputs != data.training_batch(1).inputs);
  CHECK(data.validation_batches() == 3);  // 9 windows
  CHECK(input(data.validation_batch(0, 3), "ids")[0] == 900);
  CHECK(count_targets(data.validation_batch(2, 3).view(), 1000) == 30);
  CHECK_THROWS_WITH(TextWindows({std::vector{1, 2, 3}, {}}, {.context = 10}),
                    ContainsSubstring("one context needs 11"));
}

TEST_CASE("schedules of the learning rate", "[training]") {
  TrainSettings s{.iterations = 1000, .learning_rate = 1, .min_learning_rate = 0, .warmup = 100};
  s.schedule = Schedule::linear;
  CHECK(std::abs(learning_rate_at(s, 550) - 0.5) < 1e-12);
  s.schedule = Schedule::constant;
  CHECK(learning_rate_at(s, 50) < 0.5);
  CHECK(learning_rate_at(s, 999) == 1);
  s.schedule = Schedule::inverse_sqrt;
  CHECK(learning_rate_at(s, 50) == 0.5);
  CHECK(learning_rate_at(s, 100) == 1);
  CHECK(std::abs(learning_rate_at(s, 400) - 0.5) < 1e-12);
  s.schedule = Schedule::noam;  // factor * d^-0.5 * min(s^-0.5, s * w^-1.5)
  s.width = 64;
  CHECK(std::abs(learning_rate_at(s, 25) - 25 / (8 * 1000.0)) < 1e-12);
  CHECK(std::abs(learning_rate_at(s, 400) - 1 / (8 * 20.0)) < 1e-12);
  CHECK(schedule_named("inverse-sqrt") == Schedule::inverse_sqrt);
  CHECK_THROWS_AS(schedule_named("square"), UsageError);
}
