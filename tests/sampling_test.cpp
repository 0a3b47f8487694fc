#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "models/generation/sampling.h"
#include "models/training/trainer.h"

using namespace vkformer;

namespace {

std::map<int32_t, int> draw(const std::vector<float>& logits, const SamplingSettings& settings, int draws = 4000) {
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i) ++counts[sample(logits, settings, static_cast<uint64_t>(i))];
  return counts;
}

}  // namespace

TEST_CASE("greedy takes the largest logit and the lower id on a tie", "[sampling]") {
  CHECK(sample(std::vector<float>{1, 3, 3, 2}, {.temperature = 0}, 0) == 1);
}

TEST_CASE("draws follow the softmax", "[sampling]") {
  // Probabilities 0.5, 0.25, 0.25.
  const auto counts = draw({std::log(2.0f), 0, 0}, {.seed = 1});
  CHECK(std::abs(counts.at(0) - 2000) < 130);  // four standard deviations
  CHECK(std::abs(counts.at(1) - 1000) < 110);
}

TEST_CASE("a temperature sharpens", "[sampling]") {
  const auto counts = draw({std::log(2.0f), 0}, {.temperature = 0.5, .seed = 1});  // 4 : 1
  CHECK(std::abs(counts.at(0) - 3200) < 110);
}

TEST_CASE("top-k and top-p drop the tail", "[sampling]") {
  const std::vector<float> logits{0, std::log(4.0f), std::log(3.0f), std::log(2.0f)};  // 0.1 0.4 0.3 0.2
  const auto two = draw(logits, {.top_k = 2});
  CHECK(two.size() == 2);
  CHECK(two.contains(1));
  CHECK(two.contains(2));
  CHECK(draw(logits, {.top_p = 0.65}).size() == 2);
  CHECK(draw(logits, {.top_p = 0.75}).size() == 3);
  CHECK(draw(logits, {.top_p = 0.0}).size() == 1);
}

TEST_CASE("what is banned is never drawn", "[sampling]") {
  const float none = -std::numeric_limits<float>::infinity();
  const auto counts = draw({none, 0, none, 0, none}, {.seed = 2});
  CHECK(counts.size() == 2);
  CHECK(counts.at(1) + counts.at(3) == 4000);
}

TEST_CASE("draws depend on seed and position only", "[sampling]") {
  const std::vector<float> logits(50, 0.0f);
  CHECK(sample(logits, {.seed = 3}, 7) == sample(logits, {.seed = 3}, 7));
  int different = 0;
  for (uint64_t i = 0; i < 20; ++i) different += sample(logits, {.seed = 3}, i) != sample(logits, {.seed = 4}, i);
  CHECK(different > 10);
}

TEST_CASE("the learning rate warms up and follows a cosine", "[training]") {
  const TrainSettings s{.iterations = 1000, .learning_rate = 1, .min_learning_rate = 0.1, .warmup = 100};
  CHECK(learning_rate_at(s, 1) < 0.011);
  CHECK(learning_rate_at(s, 50) < learning_rate_at(s, 51));
  CHECK(std::abs(learning_rate_at(s, 550) - 0.55) < 1e-9);
  CHECK(learning_rate_at(s, 1000) == 0.1);
  CHECK(learning_rate_at(s, 2000) == 0.1);
}
