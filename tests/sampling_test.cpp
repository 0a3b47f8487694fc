#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "models/generation/sampling.h"
#include "models/training/trainer.h"
#include "runtime/random.h"
#include "tests/file_helpers.h"

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

TEST_CASE("min-p drops what is unlikely beside the likeliest", "[sampling]") {
  const std::vector<float> logits{0, std::log(4.0f), std::log(3.0f), std::log(2.0f)};  // 0.1 0.4 0.3 0.2
  CHECK(draw(logits, {.min_p = 0.3}).size() == 3);
  CHECK(draw(logits, {.min_p = 0.6}).size() == 2);
  CHECK(draw(logits, {.min_p = 1}).size() == 1);
  CHECK(draw(logits, {.top_k = 2, .min_p = 0.1}).size() == 2);
  // Of probabilities after the temperature, as in transformers: squared, 0.2 is a quarter of 0.4.
  CHECK(draw(logits, {.temperature = 0.5, .min_p = 0.3}).size() == 2);
}

TEST_CASE("in llama.cpp's order the temperature comes last", "[sampling]") {
  const std::vector<float> logits{0, std::log(4.0f), std::log(3.0f), std::log(2.0f)};  // 0.1 0.4 0.3 0.2
  // Cold, the first alone reaches top_p; before that two are needed.
  CHECK(draw(logits, {.temperature = 0.2, .top_p = 0.65}).size() == 1);
  const auto counts = draw(logits, {.temperature = 0.5, .top_p = 0.65, .temperature_last = true});
  CHECK(counts.size() == 2);
  CHECK(std::abs(counts.at(1) - 2560) < 122);  // 16 : 9
  CHECK(draw(logits, {.temperature = 0.5, .min_p = 0.3, .temperature_last = true}).size() == 3);
  // Without top-p and min-p the order is nothing.
  CHECK(draw(logits, {.temperature = 0.7, .top_k = 3}) ==
        draw(logits, {.temperature = 0.7, .top_k = 3, .temperature_last = true}));
}

TEST_CASE("what is banned is never drawn", "[sampling]") {
  const float none = -std::numeric_limits<float>::infinity();
  const auto counts = draw({none, 0, none, 0, none}, {.seed = 2});
  CHECK(counts.size() == 2);
  CHECK(counts.at(1) + counts.at(3) == 4000);
}

TEST_CASE("logits that are not numbers are refused", "[sampling]") {
  // More than sixteen, from where on std::sort leaves its range under an ordering that is none.
  for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const double temperature : {0.0, 0.8}) {
      std::vector<float> logits(100, wrong);
      CHECK(testing::error_of([&] { sample(logits, {.temperature = temperature}, 0); }).find("the logits hold") !=
            std::string::npos);
      logits.assign(100, 0.5f);
      logits[40] = wrong;
      CHECK(testing::error_of([&] { sample(logits, {.temperature = temperature, .top_k = 3}, 0); }).find("token 40") !=
            std::string::npos);
    }
  const std::vector<float> none(3, -std::numeric_limits<float>::infinity());
  CHECK(testing::error_of([&] { sample(none, {}, 0); }).find("no token of 3 is possible") != std::string::npos);
}

TEST_CASE("the ranking is that of a sort by logit and id", "[sampling]") {
  // Halves, so that there are many ties; negative and positive zeros are one.
  std::vector<float> logits(3000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(static_cast<int>(i * 7919 % 41) - 20) / 2;
  for (size_t i = 0; i < logits.size(); i += 97) logits[i] = -0.0f;
  logits[5] = -std::numeric_limits<float>::infinity();
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  // So hot that all weigh the same: the draw tells the place in the ranking.
  constexpr double hot = 1e300;
  for (const int64_t top_k : {int64_t{0}, int64_t{1}, int64_t{40}, int64_t{1500}, int64_t{99999}})
    for (uint64_t i = 0; i < 200; ++i) {
      const auto most = top_k > 0 ? std::min<int64_t>(top_k, 2999) : 2999;
      const double place = uniform(9, 0x73616d70, i) * static_cast<double>(most);
      CHECK(sample(logits, {.temperature = hot, .top_k = top_k, .seed = 9}, i) == ids[static_cast<size_t>(place)]);
    }
}

TEST_CASE("a draw from a large vocabulary is that from all of it sorted", "[sampling][long]") {
  // The tail beyond what is ranked at first has nearly all, half or nearly none of the weight.
  for (const double spread : {0.1, 2.0, 8.0}) {
    std::vector<float> logits(5000);
    for (size_t i = 0; i < logits.size(); ++i)
      logits[i] = static_cast<float>(spread * (uniform(5, 1, i) + uniform(5, 2, i) - uniform(5, 3, i)));
    std::vector<float> sorted = logits;
    std::ranges::sort(sorted, std::greater{});
    const auto place_of = [&](const SamplingSettings& settings, uint64_t i) {
      const float logit = logits[static_cast<size_t>(sample(logits, settings, i))];
      return std::ranges::find(sorted, logit) - sorted.begin();
    };
    for (const double top_p : {1.0, 0.9, 0.4})
      for (const double min_p : {0.0, 0.5, 0.01})
        for (const bool last : {false, true}) {
          const SamplingSettings settings{.temperature = 0.7, .top_p = top_p, .min_p = min_p, .temperature_last = last};
          SamplingSettings all = settings;
          all.top_k = static_cast<int64_t>(logits.size());
          for (uint64_t i = 0; i < 20; ++i) REQUIRE(place_of(settings, i) == place_of(all, i));
        }
  }
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
