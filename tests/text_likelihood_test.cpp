// Tokens that are given, scored by whole runs: what decoding says of each, one after the other.

#include "models/generation/text_likelihood.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numeric>

#include "models/generation/beam_search.h"
#include "tests/generator_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Ids = std::vector<int32_t>;

/// By decoding: for each of the tokens behind the first what all tokens of the vocabulary had.
std::vector<std::vector<double>> decoded(Generator& generator, const Ids& ids) {
  std::vector<std::vector<double>> rows;
  generator.rewind(0);
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    const std::vector<float> logits = generator.decode(ids[i]);
    log_softmax(logits, rows.emplace_back(logits.size()));
  }
  return rows;
}

/// Pieces of 8 positions and what is left, behind each other.
void check_scores(Backend& backend, const std::string& name, double tolerance) {
  INFO(name);
  constexpr int64_t length = 21, likeliest = 5;
  LoadedGenerator one(backend, name, {.capacity = length});
  LoadedGenerator both(backend, name, {.rows = 2, .capacity = length, .run_positions = 16, .sources = 2});
  const auto V = one.model.vocabulary;
  const Ids texts[] = {some_ids(length + 1, V, 5), some_ids(length + 1, V, 11)};
  if (one.model.has_encoder()) {
    one.generator.encode(Ids{7, 9, 11});
    both.generator.encode(Ids{7, 9, 11, 7, 9, 11});
  }
  Ids tokens, next;
  for (const Ids& text : texts) {
    tokens.insert(tokens.end(), text.begin(), text.end() - 1);
    next.insert(next.end(), text.begin() + 1, text.end());
  }
  const TokenScores scores = both.generator.score(tokens, next, likeliest);
  REQUIRE(both.generator.position() == length);
  std::vector<std::vector<float>> logits(tokens.size());
  both.generator.rewind(0);
  both.generator.visit_logits(
      tokens, [&](size_t token, std::span<const float> row) { logits.at(token).assign(row.begin(), row.end()); });
  for (size_t r = 0; r < 2; ++r) {
    const auto rows = decoded(one.generator, texts[r]);
    for (size_t i = 0; i < rows.size(); ++i) {
      INFO("row " << r << ", token " << i);
      const std::vector<double>& expected = rows[i];
      const size_t token = r * length + i;
      CHECK(std::abs(scores.log_probabilities[token] - expected[static_cast<size_t>(next[token])]) < tolerance);
      std::vector<double> own(expected.size());
      log_softmax(logits[token], own);
      double worst = 0;
      for (size_t id = 0; id < own.size(); ++id) worst = std::max(worst, std::abs(own[id] - expected[id]));
      CHECK(worst < tolerance);
      std::vector<double> sorted = expected;
      std::ranges::sort(sorted, std::greater{});
      for (size_t j = 0; j < likeliest; ++j) {
        const double at = scores.likeliest_log_probabilities[token * likeliest + j];
        CHECK(std::abs(at - sorted[j]) < tolerance);
        CHECK(std::abs(at - expected[static_cast<size_t>(scores.likeliest[token * likeliest + j])]) < tolerance);
      }
    }
  }
}

/// A text of many windows is what its windows are by themselves, and a model is no distance from itself.
void check_text(Backend& backend, double tolerance) {
  constexpr int64_t positions = 12;
  LoadedGenerator one(backend, "gpt2", {.capacity = positions});
  LoadedGenerator side_by_side(backend, "gpt2", {.rows = 3, .capacity = positions});
  const Ids text = some_ids(50, one.model.vocabulary, 5), begin{3, 4};
  const auto windows = text_windows(text.size(), {.positions = positions, .shared = 4, .begin = begin});
  std::vector<double> expected;
  for (const TextWindow& window : windows) {
    Ids ids = window_ids(text, window, begin);
    ids.push_back(text[window.end - 1]);
    const auto rows = decoded(one.generator, ids);
    for (size_t i = rows.size() - window.scored(); i < rows.size(); ++i)
      expected.push_back(rows[i][static_cast<size_t>(ids[i + 1])]);
  }
  REQUIRE(expected.size() == text.size());
  size_t done = 0;
  const auto scored = text_log_probabilities(side_by_side.generator, text, windows, begin,
                                             [&](size_t windows_done) { done = windows_done; });
  const Comparison same = compare_predictions(one.generator, one.generator, text, windows, begin);
  CHECK(done == windows.size());
  REQUIRE(scored.size() == expected.size());
  REQUIRE(same.own.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(std::abs(scored[i] - expected[i]) < tolerance);
    CHECK(std::abs(same.own[i] - expected[i]) < tolerance);
    CHECK(same.other[i] == same.own[i]);
    CHECK(same.kullback_leibler[i] == 0);
    CHECK(same.same_likeliest[i] == 1);
  }
}

}  // namespace

TEST_CASE("given tokens are scored as decoding does", "[generation][long]") {
  const auto backend = make_reference_backend();
  for (const char* name : {"gpt2", "gemma2", "mistral", "marian", "qwen3_5"}) check_scores(*backend, name, 1e-5);
  check_text(*backend, 1e-5);
}

TEST_CASE("a device scores given tokens as it decodes", "[generation][device][one_driver]") {
  const auto backend = make_backend("");
  check_scores(*backend, "gpt2", 2e-4);
  check_text(*backend, 2e-4);
}

TEST_CASE("windows score each token once", "[generation]") {
  for (const Ids& begin : {Ids{}, Ids{1}})
    for (const int64_t shared : {1, 5, 9})
      for (size_t tokens = 0; tokens < 60; ++tokens) {
        INFO(tokens << " tokens, " << shared << " shared, " << begin.size() << " in front");
        const auto windows = text_windows(tokens, {.positions = 10, .shared = shared, .begin = begin});
        size_t next = begin.empty() ? 1 : 0;
        for (const TextWindow& window : windows) {
          CHECK(window.first == next);
          CHECK(window.end > window.first);
          CHECK(window.from + (&window == &windows.front() ? next : static_cast<size_t>(shared)) == window.first);
          CHECK(begin.size() + window.end - 1 - window.from <= 10);
          next = window.end;
        }
        CHECK(next == std::max<size_t>(tokens, begin.empty() ? 1 : 0));
      }
  for (const int64_t shared : {0, 10})
    CHECK_THROWS_WITH(text_windows(20, {.positions = 10, .shared = shared, .begin = {1}}),
                      ContainsSubstring("they can share 1 to 9"));
}

TEST_CASE("a mean knows its error", "[generation]") {
  const MeanOf mean = mean_of(std::vector<double>{1, 2, 3, 4});
  CHECK(mean.mean == 2.5);
  CHECK(std::abs(mean.error - 0.6454972243679028) < 1e-12);
  CHECK(mean_of(std::vector<double>{7}).error == 0);
}
