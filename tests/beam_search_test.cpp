// Greedy and beam search against hand-computed cases, against all sequences there are, and against a second search
// written with lists after the description of BeamSearchScorer.

#include "models/generation/beam_search.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "tests/file_helpers.h"
#include "tests/search_helpers.h"

using Catch::Approx;
using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

TEST_CASE("log-softmax is exact for large and small logits", "[beam_search]") {
  const float none = -std::numeric_limits<float>::infinity();
  std::vector<double> result(3);
  log_softmax(std::vector<float>{1000, 1000, none}, result);
  CHECK(result[0] == Approx(-std::log(2.0)));
  CHECK(result[2] == none);
  log_softmax(std::vector<float>{-3e38f, -3e38f, -3e38f}, result);
  CHECK(result[1] == Approx(-std::log(3.0)));
  for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity()})
    CHECK_THAT(error_of([&] {
                 log_softmax(std::vector<float>{0, bad, 1}, result, 7);
               }),
               ContainsSubstring("the logits of row 7 are not finite numbers"));
  CHECK_FALSE(error_of([&] { log_softmax(std::vector<float>{none, none, none}, result); }).empty());
}

TEST_CASE("two beams find what greedy misses", "[beam_search]") {
  // 0 ends, 3 starts: after 3 comes 1 or 2; 2 is less likely, but what follows it is certain.
  const NextLogits model = markov({{1, 0, 0, 0}, {.4, .3, .3, 0}, {.9, .05, .05, 0}, {0, .6, .4, 0}});
  GenerationConfig config{.max_new_tokens = 5, .eos_token_ids = {0}};
  const auto greedy = make_search(config, {{3}}, 4);
  CHECK(run(*greedy, {{3}}, model)[0][0].ids == Ids{3, 1, 0});
  config.num_beams = config.num_return_sequences = 2;
  const auto beams = make_search(config, {{3}}, 4);
  check_same(run(*beams, {{3}}, model)[0], {{{3, 2, 0}, std::log(.36) / 2}, {{3, 1, 0}, std::log(.24) / 2}});
}

TEST_CASE("the length penalty decides between short and long", "[beam_search]") {
  // 2 starts; 0 ends at once with 0.5, 1 goes on and on with 0.9.
  const NextLogits model = markov({{1, 0, 0}, {.1, .9, 0}, {.5, .5, 0}});
  GenerationConfig config{.max_new_tokens = 3, .num_beams = 2, .eos_token_ids = {0}};
  const auto best = [&](double penalty) {
    config.length_penalty = penalty;
    return search_all(config, {{2}}, 3, model)[0];
  };
  check_same(best(0), {{{2, 0}, std::log(.5)}});
  check_same(best(1), {{{2, 1, 1, 1}, std::log(.405) / 3}});
  check_same(best(2), {{{2, 1, 1, 1}, std::log(.405) / 9}});
  check_same(best(-1), {{{2, 0}, std::log(.5)}});
}

TEST_CASE("early stopping takes the first hypotheses, or looks further", "[beam_search]") {
  // 3 starts; 0 ends.
  const NextLogits model = markov({{1, 0, 0, 0}, {.9, .1, 0, 0}, {.01, 0, .99, 0}, {.4, .35, .25, 0}});
  GenerationConfig config{.max_new_tokens = 3, .num_beams = 2, .num_return_sequences = 2, .eos_token_ids = {0}};
  config.early_stopping = EarlyStopping::yes;
  check_same(search_all(config, {{3}}, 4, model)[0], {{{3, 1, 0}, std::log(.315) / 2}, {{3, 0}, std::log(.4)}});
  config.early_stopping = EarlyStopping::no;  // 2 2 with ln(0.2475) / 2 is better than ln(0.4)
  const double long_one = std::log(.25 * .99 * .99) / 3;
  check_same(search_all(config, {{3}}, 4, model)[0], {{{3, 2, 2, 2}, long_one}, {{3, 1, 0}, std::log(.315) / 2}});
}

TEST_CASE("only \"never\" waits for a beam that length alone could make better", "[beam_search]") {
  const NextLogits model = markov({{1, 0, 0}, {.1, .9, 0}, {.51, .49, 0}});
  GenerationConfig config{.max_new_tokens = 4, .num_beams = 1, .eos_token_ids = {0}};
  const auto best = [&](EarlyStopping early_stopping, double penalty) {
    config.early_stopping = early_stopping;
    config.length_penalty = penalty;
    return search_all(config, {{2}}, 3, model)[0];
  };
  check_same(best(EarlyStopping::no, 1), {{{2, 0}, std::log(.51)}});
  check_same(best(EarlyStopping::yes, 1), {{{2, 0}, std::log(.51)}});
  check_same(best(EarlyStopping::never, 0), {{{2, 0}, std::log(.51)}});
  check_same(best(EarlyStopping::never, 1), {{{2, 1, 1, 1, 1}, std::log(.49 * .729) / 4}});
}

TEST_CASE("a penalty against length is not taken at the limit", "[beam_search]") {
  // 3 starts; 1 ends or goes on to 4, which ends. At length 2, 1 4 has 2 ln(0.54), at length 10 it would have less than
  // the worst hypothesis.
  const NextLogits model =
      markov({{1, 0, 0, 0, 0}, {.1, 0, 0, 0, .9}, {.5, 0, .5, 0, 0}, {.3, .6, .1, 0, 0}, {1, 0, 0, 0, 0}});
  const GenerationConfig config{.max_new_tokens = 10,
                                .num_beams = 2,
                                .num_return_sequences = 2,
                                .length_penalty = -1,
                                .early_stopping = EarlyStopping::never,
                                .eos_token_ids = {0}};
  check_same(search_all(config, {{3}}, 5, model)[0], {{{3, 0}, std::log(.3)}, {{3, 1, 4, 0}, std::log(.54) * 3}});
}

TEST_CASE("however many end ids there are, K beams can run on", "[beam_search]") {
  // 0 and 4 end and take the best 2 K ranks after 1 and 2; 5 goes on for ever.
  const std::vector<double> middle{.4, 0, 0, 0, .4, .2}, same{0, 0, 0, 0, 0, 1};
  const NextLogits model = markov({same, middle, middle, {0, .55, .45, 0, 0, 0}, same, same});
  const GenerationConfig config{.max_new_tokens = 5,
                                .num_beams = 2,
                                .num_return_sequences = 2,
                                .length_penalty = 2,
                                .early_stopping = EarlyStopping::never,
                                .eos_token_ids = {0, 4}};
  check_same(search_all(config, {{3}}, 6, model)[0],
             {{{3, 1, 5, 5, 5, 5}, std::log(.11) / 25}, {{3, 2, 5, 5, 5, 5}, std::log(.09) / 25}});
}

TEST_CASE("an end id below the best K is no hypothesis", "[beam_search]") {
  // The end has rank 2 of K = 2 at first, and is certain later.
  const NextLogits model = markov({{1, 0, 0, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}, {.2, .5, .3, 0}});
  const GenerationConfig config{.max_new_tokens = 9, .num_beams = 2, .num_return_sequences = 2, .eos_token_ids = {0}};
  check_same(search_all(config, {{3}}, 4, model)[0], {{{3, 1, 0}, std::log(.5) / 2}, {{3, 2, 0}, std::log(.3) / 2}});
}

TEST_CASE("a finished source waits for the others", "[beam_search]") {
  // After 2 comes the end, after 3 a chain 1 1 1 ... that ends at the limit.
  const NextLogits model = markov({{1, 0, 0, 0}, {0, 1, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}});
  GenerationConfig config{.max_new_tokens = 3, .eos_token_ids = {0}};
  for (int64_t beams : {1, 2}) {
    config.num_beams = beams;
    const auto search = make_search(config, {{2}, {3}}, 4);
    const auto rows = static_cast<size_t>(search->rows());
    REQUIRE(rows == static_cast<size_t>(2 * beams));
    std::vector<float> logits;
    for (int32_t last : {2, 3})
      for (int64_t beam = 0; beam < beams; ++beam)
        for (float x : model(0, {last})) logits.push_back(x);
    search->advance(logits);
    CHECK_FALSE(search->done());
    const SearchStep& step = search->advance(std::vector<float>(logits));
    CHECK(step.parents[0] == 0);
    CHECK(step.tokens[0] == 0);
    CHECK(step.tokens[static_cast<size_t>(beams)] == 1);
    search->advance(logits);
    REQUIRE(search->done());
    const Results results = search->results();
    CHECK(results[0][0].ids == Ids{2, 0});
    CHECK(results[1][0].ids == Ids{3, 1, 1, 1});
  }
}

TEST_CASE("beams without a continuation are dropped", "[beam_search]") {
  const NextLogits even = markov(std::vector<std::vector<double>>(3, {.2, .5, .3}));
  // One forced first id leaves one beam, which spreads again.
  GenerationConfig config{
      .max_new_tokens = 2, .num_beams = 3, .num_return_sequences = 3, .eos_token_ids = {0}, .forced_bos_token_id = 2};
  check_same(search_all(config, {{1}}, 3, even)[0],
             {{{1, 2, 1}, std::log(.5) / 2}, {{1, 2, 2}, std::log(.3) / 2}, {{1, 2, 0}, std::log(.2) / 2}});
  // Only 1 and the end may come: 1 1, 1 end, end.
  config.forced_bos_token_id.reset();
  config.bad_words_ids = {{2}};
  config.num_beams = config.num_return_sequences = 5;
  check_same(search_all(config, {{1}}, 3, even)[0],
             {{{1, 1, 1}, std::log(.25) / 2}, {{1, 1, 0}, std::log(.1) / 2}, {{1, 0}, std::log(.2)}});
  // Nothing may come: the prompt alone.
  config.bad_words_ids = {{1}, {2}};
  config.min_new_tokens = 1;
  check_same(search_all(config, {{1}}, 3, even)[0], {{{1}, 0}});
  config.num_beams = config.num_return_sequences = 1;
  const auto greedy = make_search(config, {{1}}, 3);
  CHECK(run(*greedy, {{1}}, even)[0][0].ids == Ids{1});
}

TEST_CASE("on equal scores the lower id and the earlier hypothesis go first", "[beam_search]") {
  const NextLogits even = markov(std::vector<std::vector<double>>(4, {.25, .25, .25, .25}));
  const GenerationConfig config{
      .max_new_tokens = 2, .num_beams = 2, .num_return_sequences = 2, .length_penalty = 0, .eos_token_ids = {3}};
  const auto results = search_all(config, {{0}}, 4, even)[0];
  CHECK(results[0].ids == Ids{0, 0, 0});
  CHECK(results[1].ids == Ids{0, 0, 1});
  const auto greedy = make_search({.max_new_tokens = 1}, {{2}}, 4);
  CHECK(run(*greedy, {{2}}, even)[0][0].ids == Ids{2, 0});
}

TEST_CASE("enough beams find the best of all sequences", "[beam_search]") {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const int64_t vocabulary = 3 + static_cast<int64_t>(seed % 2), limit = 4;
    const NextLogits model = random_model(seed, vocabulary);
    GenerationConfig config{.max_new_tokens = limit,
                            .num_beams = 256,
                            .num_return_sequences = 8,
                            .length_penalty = std::vector<double>{1, 0, 2, -.5}[seed % 4],
                            .eos_token_ids = {1}};
    std::vector<Hypothesis> expected = all_sequences(config, {2, 0}, limit, model);
    expected.resize(8);
    check_same(search_all(config, {{2, 0}}, vocabulary, model)[0], expected);
  }
}

TEST_CASE("the search equals one written with lists", "[beam_search]") {
  int64_t ended = 0, cut = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const int64_t vocabulary = 7 + static_cast<int64_t>(seed % 6);
    GenerationConfig config{.max_new_tokens = 1 + static_cast<int64_t>(seed % 11),
                            .num_beams = 1 + static_cast<int64_t>(seed / 3 % 4),
                            .length_penalty = std::vector<double>{1, 0, .6, 2, -1}[seed / 5 % 5],
                            .early_stopping = static_cast<EarlyStopping>(seed % 3),
                            .eos_token_ids = {1}};
    config.num_return_sequences = config.num_beams;
    if (seed % 4 == 0) config.eos_token_ids = {1, 5};
    if (seed % 5 == 1) config.min_new_tokens = 3;
    if (seed % 7 == 2) config.no_repeat_ngram_size = 2;
    if (seed % 7 == 3) config.repetition_penalty = 1.3;
    if (seed % 7 == 4) config.bad_words_ids = {{0}, {2, 3}};
    if (seed % 7 == 5) config.forced_eos_token_ids = {1};
    const std::vector<Ids> prompts{{2, 6}, {3, 4}, {0, 2}};
    const NextLogits model = random_model(seed, vocabulary);
    const Results results = search_all(config, prompts, vocabulary, model);
    for (size_t source = 0; source < prompts.size(); ++source) {
      INFO("seed " << seed << ", source " << source);
      check_same(results[source], listed_search(config, source, prompts[source], vocabulary, model));
      for (const Hypothesis& hypothesis : results[source]) ++(config.ends(hypothesis.ids.back()) ? ended : cut);
    }
  }
  CHECK(ended > 500);
  CHECK(cut > 500);
}

TEST_CASE("a source with a limit of its own ends as if it were alone", "[beam_search]") {
  const std::vector<Ids> prompts{{1}, {2}, {3}};
  GenerationConfig config{.max_new_tokens = 7, .eos_token_ids = {0}};
  for (int64_t beams : {1, 3})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      config.num_beams = config.num_return_sequences = beams;
      config.max_new_tokens = 7;
      config.forced_eos_token_ids = seed % 2 ? Ids{0} : Ids{};
      const NextLogits model = random_model(seed, 9);
      const auto search = make_search(config, prompts, 9);
      search->limit(0, 2);
      search->limit(1, 5);
      const Results results = run(*search, prompts, model);
      const int64_t limits[] = {2, 5, 7};
      for (size_t source = 0; source < prompts.size(); ++source) {
        config.max_new_tokens = limits[source];
        const NextLogits own = [&](size_t, const Ids& ids) { return model(source, ids); };
        check_same(results[source], run(*make_search(config, {prompts[source]}, 9), {prompts[source]}, own)[0]);
      }
    }
  const auto search = make_search(config, prompts, 9);
  CHECK_THROWS_AS(search->limit(0, 0), Error);
  CHECK_THROWS_AS(search->limit(0, 8), Error);
}

TEST_CASE("greedy takes logits, follows the rules and ends each row for itself", "[beam_search]") {
  const std::vector<Ids> prompts{{1}, {2}, {3}};
  GenerationConfig config{.max_new_tokens = 6, .eos_token_ids = {0, 4}, .no_repeat_ngram_size = 1};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const NextLogits model = random_model(seed, 9);
    const auto search = make_search(config, prompts, 9);
    const Results results = run(*search, prompts, model);
    for (size_t source = 0; source < prompts.size(); ++source) {
      Ids ids = prompts[source];
      while (ids.size() < 7 && !(ids.size() > 1 && config.ends(ids.back()))) {
        std::vector<float> logits = model(source, ids);
        for (int32_t id : ids) logits[static_cast<size_t>(id)] = -100;
        ids.push_back(static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin()));
      }
      CHECK(results[source].size() == 1);
      CHECK(results[source][0].ids == ids);
    }
  }
}

TEST_CASE("beams add up renormalised scores when they are asked to", "[beam_search]") {
  // 3 starts; 2 is banned, which leaves 1 two thirds of what may come.
  const NextLogits model = markov({{1, 0, 0, 0}, {1, 0, 0, 0}, {1, 0, 0, 0}, {.2, .4, .4, 0}});
  GenerationConfig config{.max_new_tokens = 2,
                          .num_beams = 2,
                          .num_return_sequences = 2,
                          .length_penalty = 0,
                          .eos_token_ids = {0},
                          .bad_words_ids = {{2}}};
  check_same(search_all(config, {{3}}, 4, model)[0], {{{3, 1, 0}, std::log(.4)}, {{3, 0}, std::log(.2)}});
  config.renormalize_logits = true;
  check_same(search_all(config, {{3}}, 4, model)[0], {{{3, 1, 0}, std::log(2. / 3)}, {{3, 0}, std::log(1. / 3)}});
}

TEST_CASE("draws follow the rules, and a batch does not change them", "[beam_search]") {
  const NextLogits model = markov(std::vector<std::vector<double>>(4, {.1, .3, .4, .2}));
  GenerationConfig config{.max_new_tokens = 400, .bad_words_ids = {{1}}, .do_sample = true, .top_k = 2, .seed = 5};
  const std::vector<Ids> prompts{{3}, {3}};
  const auto draw = [&](std::vector<Ids> some, uint64_t number_of_first = 0) {
    const auto search = make_search(config, some, 4);
    search->set_number(0, number_of_first);
    return run(*search, some, model);
  };
  const Results both = draw(prompts);
  CHECK(both[0][0].ids == draw({{3}})[0][0].ids);
  CHECK(both[1][0].ids == draw({{3}}, 1)[0][0].ids);  // the second of all, in a batch of its own
  CHECK(both[0][0].ids != both[1][0].ids);
  config.num_return_sequences = 2;
  const Results several = draw(prompts);
  for (size_t i : {0, 1}) CHECK(several[0][i].ids == both[i][0].ids);
  for (size_t i : {0, 1}) CHECK(several[1][i].ids == draw({{3}}, 1)[0][i].ids);
  CHECK(several[1][0].ids != both[1][0].ids);
  config.num_return_sequences = 1;
  // 2 and 3 are left, two to one.
  const auto& ids = both[0][0].ids;
  const auto twos = std::count(ids.begin(), ids.end(), 2), threes = std::count(ids.begin() + 1, ids.end(), 3);
  CHECK(twos + threes == 400);
  CHECK(std::abs(static_cast<double>(twos) - 400 * 2 / 3.) < 40);  // four standard deviations
  config.seed = 6;
  CHECK(draw(prompts)[0][0].ids != both[0][0].ids);
  config.temperature = 0;
  CHECK(draw(prompts)[0][0].ids == Ids(draw(prompts)[1][0].ids));
}

TEST_CASE("a search refuses what it cannot run", "[beam_search]") {
  const GenerationConfig config{.max_new_tokens = 1, .num_beams = 2, .eos_token_ids = {0}};
  const auto error = [](const GenerationConfig& c, std::vector<Ids> prompts) {
    return error_of([&] { make_search(c, std::move(prompts), 4); });
  };
  CHECK_THAT(error(config, {}), ContainsSubstring("there is no prompt"));
  CHECK_THAT(error(config, {{1}, {}}), ContainsSubstring("a prompt is empty"));
  CHECK_THAT(error(config, {{1, 4}}), ContainsSubstring("token 4 is outside the vocabulary of 4"));
  CHECK_THAT(error({.num_beams = 2, .num_return_sequences = 3}, {{1}}),
             ContainsSubstring("num_return_sequences is 3, but 2 beams give at most 2"));
  CHECK_THAT(error({.num_return_sequences = 3}, {{1}}), ContainsSubstring("3 texts were asked for"));
  CHECK_THAT(error({.num_beams = 2, .do_sample = true}, {{1}}), ContainsSubstring("from 2 beams"));
  CHECK_THAT(error({.max_new_tokens = 0}, {{1}}), ContainsSubstring("max_new_tokens is 0"));
  for (int64_t beams : {1, 2}) {
    GenerationConfig c = config;
    c.num_beams = beams;
    const auto search = make_search(c, {{1}}, 4);
    CHECK_THAT(error_of([&] { search->advance(std::vector<float>(3)); }), ContainsSubstring("3 logits were given"));
    CHECK_THAT(error_of([&] { search->results(); }), ContainsSubstring("not done"));
    std::vector<float> logits(static_cast<size_t>(4 * beams), 1.0f);
    search->advance(logits);
    CHECK_THAT(error_of([&] { search->advance(logits); }), ContainsSubstring("the search is done"));
    for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      const auto second = make_search(c, {{1}}, 4);
      logits[2] = bad;
      CHECK_THAT(error_of([&] { second->advance(logits); }), ContainsSubstring("the logits of row 0 are not finite"));
    }
  }
}
