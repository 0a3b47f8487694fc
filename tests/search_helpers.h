#pragma once
// What the tests of searches share: models with known probabilities, and two further searches, one with lists after the
// description of BeamSearchScorer, one over all sequences.

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <functional>

#include "models/generation/beam_search.h"

namespace vkformer::testing {

using Ids = std::vector<int32_t>;
using Results = std::vector<std::vector<Hypothesis>>;
/// The logits that follow a source's ids.
using NextLogits = std::function<std::vector<float>(size_t source, const Ids& ids)>;

/// Probabilities by the last id. A zero becomes minus infinity.
inline NextLogits markov(const std::vector<std::vector<double>>& table) {
  return [table](size_t, const Ids& ids) {
    std::vector<float> logits;
    for (double p : table[static_cast<size_t>(ids.back())]) logits.push_back(static_cast<float>(std::log(p)));
    return logits;
  };
}

/// Logits from -3 to 3 that depend on every id before them.
inline NextLogits random_model(uint64_t seed, int64_t vocabulary) {
  return [=](size_t source, const Ids& ids) {
    uint64_t state = seed * 1000003 + source;
    const auto next = [&state] {
      state += 0x9e3779b97f4a7c15;
      uint64_t z = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      return z ^ (z >> 31);
    };
    for (int32_t id : ids) state = next() + static_cast<uint64_t>(id);
    std::vector<float> logits;
    for (int64_t i = 0; i < vocabulary; ++i)
      logits.push_back(static_cast<float>(static_cast<double>(next() >> 11) * 0x1p-53 * 6 - 3));
    return logits;
  };
}

/// Plays the model's part: its rows are what parents and tokens have made of them.
inline Results run(Search& search, const std::vector<Ids>& prompts, const NextLogits& model) {
  const size_t beams = static_cast<size_t>(search.rows()) / prompts.size();
  std::vector<Ids> rows;
  for (const Ids& prompt : prompts) rows.insert(rows.end(), beams, prompt);
  while (!search.done()) {
    std::vector<float> logits;
    for (size_t row = 0; row < rows.size(); ++row) {
      const std::vector<float> more = model(row / beams, rows[row]);
      logits.insert(logits.end(), more.begin(), more.end());
    }
    const SearchStep& step = search.advance(logits);
    std::vector<Ids> next;
    for (size_t row = 0; row < rows.size(); ++row) {
      REQUIRE(static_cast<size_t>(step.parents[row]) / beams == row / beams);
      next.push_back(rows[static_cast<size_t>(step.parents[row])]);
      next.back().push_back(step.tokens[row]);
    }
    rows = std::move(next);
  }
  return search.results();
}

inline Results search_all(const GenerationConfig& config, const std::vector<Ids>& prompts, int64_t vocabulary,
                          const NextLogits& model) {
  BeamSearch search(config, prompts, vocabulary);
  return run(search, prompts, model);
}

inline void check_same(const std::vector<Hypothesis>& found, const std::vector<Hypothesis>& expected) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].ids == expected[i].ids);
    CHECK(found[i].score == Catch::Approx(expected[i].score).epsilon(1e-6));  // logits are float
  }
}

inline std::vector<double> log_probabilities(const std::vector<float>& logits) {
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit));
  std::vector<double> result;
  for (float logit : logits) result.push_back(static_cast<double>(logit) - std::log(sum));
  return result;
}

/// One source, with lists: running beams, hypotheses, is_done, finalize. Where BeamSearchScorer asks whether the best
/// candidate could still beat the worst hypothesis, transformers 5 asks it of the best running beam; so does this.
inline std::vector<Hypothesis> listed_search(const GenerationConfig& config, size_t source, const Ids& prompt,
                                             int64_t vocabulary, const NextLogits& model) {
  struct Beam {
    double sum;
    Ids ids;
  };
  const auto by_score = [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; };
  const auto beams = static_cast<size_t>(config.num_beams);
  const auto prompt_length = static_cast<int64_t>(prompt.size());
  const LogitsRules rules(config, prompt_length, vocabulary);
  const int64_t limit = config.most_new_tokens(prompt_length);
  std::vector<Beam> running(beams, {-1e9, prompt});
  running[0].sum = 0;
  std::vector<Hypothesis> hypotheses;
  const auto add = [&](const Beam& beam, int64_t length) {
    if (beam.sum < -1e8) return;  // a beam that cannot be
    hypotheses.push_back({beam.ids, beam.sum / std::pow(static_cast<double>(length), config.length_penalty)});
    std::stable_sort(hypotheses.begin(), hypotheses.end(), by_score);
    if (hypotheses.size() > beams) hypotheses.pop_back();
  };
  for (int64_t length = 1; length <= limit; ++length) {
    std::vector<Beam> all;
    for (const Beam& beam : running) {
      std::vector<double> scores = log_probabilities(model(source, beam.ids));
      rules.apply(beam.ids, length - 1, scores);
      for (size_t token = 0; token < scores.size(); ++token) {
        all.push_back({beam.sum + scores[token], beam.ids});
        all.back().ids.push_back(static_cast<int32_t>(token));
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Beam& a, const Beam& b) { return a.sum > b.sum; });
    all.resize(std::min(all.size(), beams * std::max<size_t>(2, 1 + config.eos_token_ids.size())));
    running.clear();
    for (size_t rank = 0; rank < all.size() && running.size() < beams; ++rank) {
      if (!config.ends(all[rank].ids.back()))
        running.push_back(all[rank]);
      else if (rank < beams)
        add(all[rank], length);
    }
    if (length == limit) break;
    if (hypotheses.size() < beams) continue;
    if (config.early_stopping == EarlyStopping::yes) return hypotheses;
    const bool far = config.early_stopping == EarlyStopping::never && config.length_penalty > 0;
    const double reachable =
        running[0].sum / std::pow(static_cast<double>(far ? limit : length), config.length_penalty);
    if (hypotheses.back().score >= reachable) return hypotheses;
  }
  for (const Beam& beam : running) add(beam, limit);
  return hypotheses;
}

/// Every sequence of up to `limit` tokens, best first.
inline std::vector<Hypothesis> all_sequences(const GenerationConfig& config, const Ids& prompt, int64_t limit,
                                             const NextLogits& model) {
  std::vector<Hypothesis> all;
  const std::function<void(const Ids&, double, int64_t)> extend = [&](const Ids& ids, double sum, int64_t length) {
    if (length > 0 && (config.ends(ids.back()) || length == limit)) {
      all.push_back({ids, sum / std::pow(static_cast<double>(length), config.length_penalty)});
      return;
    }
    const std::vector<double> log_p = log_probabilities(model(0, ids));
    for (size_t token = 0; token < log_p.size(); ++token) {
      Ids longer = ids;
      longer.push_back(static_cast<int32_t>(token));
      extend(longer, sum + log_p[token], length + 1);
    }
  };
  extend(prompt, 0, 0);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return all;
}

}  // namespace vkformer::testing
