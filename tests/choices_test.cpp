// Searches that see the likeliest tokens alone: they find what they find among all.

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "models/generation/beam_search.h"
#include "runtime/backend.h"
#include "runtime/random.h"
#include "shaders/slice/slice.h"
#include "shaders/top_k/top_k.h"

using namespace vkformer;

namespace {

using Ids = std::vector<int32_t>;

constexpr int64_t vocabulary = 67;
const std::vector<Ids> starts{{5}, {9, 4}};

/// What a search on the same random logits writes, from all of them or from choices() of them.
std::vector<Ids> searched(const GenerationConfig& config, bool chosen, uint32_t seed = 7) {
  const auto search = make_search(config, starts, vocabulary);
  const bool beams = config.num_beams > 1;
  for (uint32_t step = 0; !search->done(); ++step) {
    Graph graph;
    const Value x = graph.input("x", {search->rows(), vocabulary});
    std::vector<float> logits;
    for (uint32_t i = 0; i < search->rows() * vocabulary; ++i) {
      const auto logit = static_cast<float>(uniform(seed, step, i)) * 3;
      logits.push_back(beams ? logit : std::floor(4 * logit) / 4);  // steps of a quarter: many are equal
    }
    if (!chosen) {
      search->advance(logits);
      continue;
    }
    const TopK choices = top_k(graph, slice(graph, x, 0, search->usable()), search->choices());
    graph.mark_output(choices.values, "values");
    graph.mark_output(choices.indices, "indices");
    const auto program = make_reference_backend()->compile(graph, nullptr);
    program->write("x", logits);
    program->run();
    std::vector<float> values = program->read("values");
    if (beams)
      for (size_t row = 0; row < static_cast<size_t>(search->rows()); ++row) {
        std::vector<double> all(vocabulary);
        log_softmax(std::span(logits).subspan(row * vocabulary, vocabulary), all);
        for (size_t i = row * search->choices(), end = i + search->choices(); i < end; ++i)
          values[i] = static_cast<float>(all[static_cast<size_t>(program->read_ints("indices")[i])]);
      }
    search->advance(values, program->read_ints("indices"));
  }
  std::vector<Ids> found;
  for (const auto& source : search->results())
    for (const Hypothesis& hypothesis : source) found.push_back(hypothesis.ids);
  return found;
}

}  // namespace

TEST_CASE("the likeliest tokens are all that a search needs whose rules only ban some", "[generation][long]") {
  GenerationConfig config{.max_new_tokens = 9};
  CHECK(searched(config, true) == searched(config, false));
  const GenerationConfig padded{.max_new_tokens = 9, .suppress_tokens = {66, 64, 65, 62, 63, 62, 61}};
  CHECK(searched(padded, true) == searched(padded, false));
  CHECK(searched(padded, true) != searched(config, true));
  config.do_sample = true;
  config.top_k = 13;
  for (const double top_p : {1.0, 0.6})
    for (uint32_t seed = 0; seed < 20; ++seed) {
      config.top_p = top_p;
      config.min_p = seed % 3 == 0 ? 0.2 : 0;
      config.temperature_last = seed % 2 == 0;
      config.seed = seed;
      CHECK(searched(config, true) == searched(config, false));
    }
  const GenerationConfig ruled[] = {
      {.max_new_tokens = 9, .bad_words_ids = {{0}, {3, 11}, {66}}},
      {.max_new_tokens = 9, .eos_token_ids = {0, 31, 32, 33, 34}},
      {.max_new_tokens = 9, .min_new_tokens = 6, .eos_token_ids = {0, 31, 32, 33, 34}},
      {.max_new_tokens = 9, .no_repeat_ngram_size = 1},
      {.max_new_tokens = 9, .forced_eos_token_ids = {8, 2, 8}},
      {.max_new_tokens = 9, .suppress_tokens = {11, 12, 66}, .begin_suppress_tokens = {0, 40}},
  };
  for (GenerationConfig each : ruled)
    for (const int64_t beams : {1, 4}) {
      each.num_beams = each.num_return_sequences = beams;
      for (uint32_t seed = 0; seed < 20; ++seed) CHECK(searched(each, true, seed) == searched(each, false, seed));
    }
}

TEST_CASE("searches say how many of the likeliest tokens they need", "[generation]") {
  const auto choices = [&](const GenerationConfig& of) { return make_search(of, starts, vocabulary)->choices(); };
  CHECK(choices({.max_new_tokens = 9}) == 1);
  CHECK(choices({.max_new_tokens = 9, .do_sample = true, .top_k = 0}) == 0);
  CHECK(choices({.max_new_tokens = 9, .do_sample = true, .top_k = 100}) == vocabulary);
  CHECK(choices({.max_new_tokens = 9, .do_sample = true, .top_k = 13, .min_p = 0.1}) == 13);
  CHECK(choices({.max_new_tokens = 9, .num_beams = 2}) == 4);
  CHECK(choices({.max_new_tokens = 9, .num_beams = 2, .eos_token_ids = {3, 4}}) == 6);
  CHECK(choices({.max_new_tokens = 9, .repetition_penalty = 1.1}) == 0);
  CHECK(choices({.max_new_tokens = 9, .num_beams = 2, .repetition_penalty = 1.1}) == 0);
  CHECK(choices({.max_new_tokens = 9, .recent_penalties = {.presence = 0.5}}) == 0);
  CHECK(choices({.max_new_tokens = 9, .logit_bias = {{3, 1}}}) == 0);
  CHECK(choices({.max_new_tokens = 9, .num_beams = 2, .renormalize_logits = true}) == 0);
  CHECK(choices({.max_new_tokens = 9, .no_repeat_ngram_size = 2}) == 1 + 2 + 9);
  CHECK(choices({.max_new_tokens = 9, .bad_words_ids = {{3}, {4, 5}}}) == 3);
  CHECK(choices({.max_new_tokens = 9, .min_new_tokens = 2, .eos_token_ids = {3}}) == 2);
  CHECK(choices({.max_new_tokens = 9, .suppress_tokens = {3}}) == 2);
  CHECK(choices({.max_new_tokens = 9, .suppress_tokens = {3, 66}}) == 2);
  CHECK(choices({.max_new_tokens = 9, .suppress_tokens = {66, 64, 65}}) == 1);
}
