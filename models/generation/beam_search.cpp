#include "models/generation/beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/all_cores.h"
#include "runtime/check.h"

namespace vkformer {
namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

void check_row(bool finite, size_t row) {
  check(finite, "the logits of row {} are not finite numbers; the weights may be damaged", row);
}

void check_not_ended_early(bool whole) {
  check(whole,
        "no token goes on with the text as its grammar must: the model's vocabulary lacks characters, or other "
        "settings forbid them");
}

int64_t longest_of(const std::vector<std::vector<int32_t>>& prompts) {
  size_t longest = 0;
  for (const auto& prompt : prompts) longest = std::max(longest, prompt.size());
  return static_cast<int64_t>(longest);
}

}  // namespace

void check_prompts(const std::vector<std::vector<int32_t>>& prompts, int64_t vocabulary) {
  check(!prompts.empty(), "there is no prompt; give at least one");
  for (const auto& prompt : prompts) {
    check(!prompt.empty(), "a prompt is empty; give at least one token");
    for (int32_t id : prompt)
      check(id >= 0 && id < vocabulary, "token {} is outside the vocabulary of {}", id, vocabulary);
  }
}

void log_softmax(std::span<const float> logits, std::span<double> result, size_t row) {
  const double largest = logits.empty() ? impossible : *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float logit : logits) sum += std::exp(static_cast<double>(logit) - largest);
  const double log_sum = std::log(sum);
  check_row(std::isfinite(largest) && std::isfinite(log_sum), row);
  for (size_t i = 0; i < logits.size(); ++i) result[i] = static_cast<double>(logits[i]) - largest - log_sum;
}

Search::Search(const GenerationConfig& config, std::vector<std::vector<int32_t>> prompts, int64_t beams,
               int64_t vocabulary)
    : config_(config),
      beams_(static_cast<size_t>(beams)),
      vocabulary_(static_cast<size_t>(vocabulary)),
      limits_(prompts.size(), config.most_new_tokens(longest_of(prompts))),
      rules_(config, longest_of(prompts), vocabulary),
      finished_(prompts.size(), 0) {
  check_prompts(prompts, vocabulary);
  for (size_t source = 0; source < prompts.size(); ++source) numbers_.push_back(source);
  check(limits_.front() > 0, "max_new_tokens is {}; it must be at least 1", limits_.front());
  check(config_.num_return_sequences == 1 || config_.num_beams > 1 || config_.do_sample,
        "{} texts were asked for (--samples, num_return_sequences), but the likeliest tokens make the same one each "
        "time; draw (--temp, --seed), or take the best of several beams (--beams)",
        config_.num_return_sequences);
  check(config_.num_return_sequences >= 1 && config_.num_return_sequences <= beams,
        "num_return_sequences is {}, but {} beams give at most {}; raise num_beams (--beams), or ask for "
        "fewer (generate --samples, translate --n-best)",
        config_.num_return_sequences, beams, beams);
  for (const auto& prompt : prompts) ids_.insert(ids_.end(), beams_, prompt);
  step_.parents.resize(ids_.size());
  step_.tokens.resize(ids_.size());
}

void Search::limit(int64_t source, int64_t tokens) {
  int64_t& limit = limits_.at(static_cast<size_t>(source));
  check(tokens >= 1 && tokens <= limit, "a source can't have {} of at most {} tokens", tokens, limit);
  limit = tokens;
}

ExpectedText Search::expected(int64_t dropped) const {
  const int64_t prompt = std::ssize(ids_.front()) - generated_;
  ExpectedText text{.draws = draws(), .end = prompt + limits_.front() - dropped};
  if (text.draws) text.draws->tokens -= dropped;
  return text;
}

const SearchStep& Search::advance(std::span<const float> logits, std::span<const int32_t> ids) {
  check(!done(), "the search is done; it takes no further logits");
  const size_t width = ids.empty() ? vocabulary_ : ids.size() / ids_.size();
  check(logits.size() == ids_.size() * width && (ids.empty() || ids.size() == logits.size()),
        "{} logits were given for {} rows of {}", logits.size(), ids_.size(), width);
  check(ids.empty() || static_cast<int64_t>(width) >= std::max<int64_t>(choices(), 1),
        "{} tokens of a row were given, the search needs {}", width, choices());
  ++generated_;
  for (size_t row = 0; row < ids_.size(); ++row) {
    step_.parents[row] = static_cast<int32_t>(row);
    step_.tokens[row] = 0;
  }
  const size_t size = beams_ * width;
  const auto advance_one = [&](int64_t index) {
    const auto source = static_cast<size_t>(index);
    if (!finished_[source])
      advance_source(source, logits.subspan(source * size, size), ids.empty() ? ids : ids.subspan(source * size, size));
  };
  constexpr size_t many = 100'000;  // fewer logits take less time than to start threads
  if (logits.size() >= many)
    on_all_cores(std::ssize(finished_), advance_one);
  else
    for (int64_t source = 0; source < std::ssize(finished_); ++source) advance_one(source);
  return step_;
}

bool Search::done() const {
  return std::all_of(finished_.begin(), finished_.end(), [](char finished) { return finished != 0; });
}

std::vector<std::vector<Hypothesis>> Search::results() const {
  check(done(), "the search is not done; advance it until it is");
  std::vector<std::vector<Hypothesis>> results;
  for (size_t source = 0; source < finished_.size(); ++source) {
    results.push_back(best_of(source));
    results.back().resize(std::min(results.back().size(), static_cast<size_t>(config_.num_return_sequences)));
  }
  return results;
}

PlainSearch::PlainSearch(const GenerationConfig& config, std::vector<std::vector<int32_t>> prompts, int64_t vocabulary)
    : Search(config, std::move(prompts), config.rows(), vocabulary), ended_(ids_.size(), 0) {}

int64_t Search::choices_of(int64_t wanted) const {
  const auto banned = rules_.most_banned();
  return banned && wanted > 0 ? std::min(wanted + *banned, usable()) : 0;
}

int64_t PlainSearch::choices() const {
  return choices_of(config_.do_sample && config_.temperature != 0 ? config_.top_k : 1);
}

SamplingSettings PlainSearch::settings() const {
  return {.temperature = config_.temperature,
          .top_k = config_.top_k,
          .top_p = config_.top_p,
          .min_p = config_.min_p,
          .temperature_last = config_.temperature_last,
          .seed = config_.seed};
}

std::optional<TextDraws> PlainSearch::draws() const {
  if (!config_.do_sample || config_.temperature == 0 || ids_.size() > 1) return {};
  return TextDraws{.settings = settings(), .draw = first_draw(0, 0), .tokens = std::ssize(ids_[0]) - generated_};
}

void PlainSearch::advance_source(size_t source, std::span<const float> logits, std::span<const int32_t> ids) {
  const size_t width = logits.size() / beams_;
  char all = 1;
  for (size_t i = 0; i < beams_; ++i) {
    const size_t row = source * beams_ + i;
    const auto of_row = [&](auto of_all) { return of_all.empty() ? of_all : of_all.subspan(i * width, width); };
    if (!ended_[row]) advance_row(source, row, of_row(logits), of_row(ids));
    all &= ended_[row];
  }
  finished_[source] = all;
}

void PlainSearch::advance_row(size_t source, size_t row, std::span<const float> logits, std::span<const int32_t> ids) {
  check_row(std::ranges::all_of(logits, [](float logit) { return logit < -impossible; }), row);
  std::vector<float> ruled;
  ScoredTokens likeliest;
  if (ids.empty() && rules_.none()) {
    logits = logits.first(static_cast<size_t>(usable()));
  } else if (ids.empty()) {
    std::vector<double> scores(logits.begin(), logits.end());
    rules_.apply(ids_[row], generated_ - 1, scores, limits_[source]);
    ruled.assign(scores.begin(), scores.end());
    logits = ruled;
  } else if (!rules_.none()) {
    likeliest = {{ids.begin(), ids.end()}, {logits.begin(), logits.end()}};
    rules_.apply(ids_[row], generated_ - 1, likeliest, limits_[source]);
    ruled.assign(likeliest.scores.begin(), likeliest.scores.end());
    logits = ruled;
    ids = likeliest.tokens;
  }
  const auto best = std::max_element(logits.begin(), logits.end());
  ended_[row] = 1;
  if (best == logits.end() || *best == impossible) return check_not_ended_early(is_whole(row));
  auto token = static_cast<int32_t>(best - logits.begin());
  if (config_.do_sample)
    token = sample(logits, settings(), first_draw(source, row) | static_cast<uint64_t>(generated_ - 1));
  if (!ids.empty()) token = ids[static_cast<size_t>(token)];
  ids_[row].push_back(token);
  step_.tokens[row] = token;
  ended_[row] = static_cast<char>(config_.ends(token) || generated_ == limits_[source]);
}

std::vector<Hypothesis> PlainSearch::best_of(size_t source) const {
  std::vector<Hypothesis> texts;
  for (size_t i = 0; i < beams_; ++i) texts.push_back({.ids = ids_[source * beams_ + i]});
  return texts;
}

BeamSearch::BeamSearch(const GenerationConfig& config, std::vector<std::vector<int32_t>> prompts, int64_t vocabulary)
    : Search(config, std::move(prompts), config.num_beams, vocabulary),
      sums_(ids_.size(), impossible),
      kept_(finished_.size()) {
  // Equal beams would all give the same continuations.
  for (size_t source = 0; source < finished_.size(); ++source) sums_[source * beams_] = 0;
}

double BeamSearch::score_of(double sum, int64_t length) const {
  return sum / std::pow(static_cast<double>(length), config_.length_penalty);
}

void BeamSearch::keep(size_t source, Hypothesis hypothesis) {
  auto& kept = kept_[source];
  const auto place = std::upper_bound(kept.begin(), kept.end(), hypothesis,
                                      [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  kept.insert(place, std::move(hypothesis));
  if (kept.size() > beams_) kept.pop_back();
}

void BeamSearch::score(size_t row, std::span<const float> logits, std::span<const int32_t> ids,
                       ScoredTokens& scored) const {
  scored.tokens.assign(ids.begin(), ids.end());
  scored.scores.resize(logits.size());
  if (ids.empty()) {
    log_softmax(logits, scored.scores, row);
    rules_.apply(ids_[row], generated_ - 1, std::span(scored.scores), limits_[row / beams_]);
    return;
  }
  std::ranges::copy(logits, scored.scores.begin());
  check_row(std::isfinite(logits.front()), row);
  rules_.apply(ids_[row], generated_ - 1, scored, limits_[row / beams_]);
}

/// The best continuations, best first.
std::vector<BeamSearch::Candidate> BeamSearch::candidates(size_t source, std::span<const float> logits,
                                                          std::span<const int32_t> ids,
                                                          std::vector<size_t>& ended) const {
  const size_t count = ranked(), width = logits.size() / beams_;
  std::vector<Candidate> best;
  ScoredTokens scored;
  for (size_t beam = 0; beam < beams_; ++beam) {
    const size_t row = source * beams_ + beam;
    if (sums_[row] == impossible) continue;
    score(row, logits.subspan(beam * width, width), ids.empty() ? ids : ids.subspan(beam * width, width), scored);
    if (std::ranges::all_of(scored.scores, [](double value) { return value == impossible; })) ended.push_back(beam);
    for (size_t i = 0; i < scored.scores.size(); ++i) {
      const double sum = sums_[row] + scored.scores[i];
      if (sum == impossible || (best.size() == count && sum <= best.back().sum)) continue;
      if (best.size() == count) best.pop_back();
      const auto place = std::upper_bound(best.begin(), best.end(), sum,
                                          [](double value, const Candidate& other) { return value > other.sum; });
      best.insert(place, {sum, beam, ids.empty() ? static_cast<int32_t>(i) : scored.tokens[i]});
    }
  }
  return best;
}

void BeamSearch::advance_source(size_t source, std::span<const float> logits, std::span<const int32_t> ids) {
  std::vector<size_t> ended;
  const std::vector<Candidate> best = candidates(source, logits, ids, ended);
  const size_t first = source * beams_;
  const auto begin = ids_.begin() + static_cast<std::ptrdiff_t>(first);
  const std::vector<std::vector<int32_t>> before(begin, begin + static_cast<std::ptrdiff_t>(beams_));
  const std::vector<double> sums_before(sums_.begin() + static_cast<std::ptrdiff_t>(first),
                                        sums_.begin() + static_cast<std::ptrdiff_t>(first + beams_));
  // Where all end, what there is is kept; of a constraint's texts those that are whole, whatever others do.
  for (const size_t beam : ended)
    if (config_.constraint ? is_whole(first + beam) : best.empty())
      keep(source, {before[beam], score_of(sums_before[beam], std::max<int64_t>(generated_ - 1, 1))});
  if (best.empty()) check_not_ended_early(!config_.constraint || !kept_[source].empty());

  size_t running = 0;
  for (size_t rank = 0; rank < best.size(); ++rank) {
    const auto& [sum, beam, token] = best[rank];
    const bool ends = config_.ends(token) || generated_ == limits_[source];
    if ((ends && rank >= beams_) || (!ends && running == beams_)) continue;
    std::vector<int32_t> longer = before[beam];
    longer.push_back(token);
    if (ends) {
      keep(source, {std::move(longer), score_of(sum, generated_)});
      continue;
    }
    const size_t row = first + running++;
    step_.parents[row] = static_cast<int32_t>(first + beam);
    step_.tokens[row] = token;
    ids_[row] = std::move(longer);
    sums_[row] = sum;
  }
  std::fill(sums_.begin() + static_cast<std::ptrdiff_t>(first + running),
            sums_.begin() + static_cast<std::ptrdiff_t>(first + beams_), impossible);

  finished_[source] = static_cast<char>(running == 0);
  if (running > 0 && kept_[source].size() == beams_) {
    const bool any_length = config_.early_stopping == EarlyStopping::never && config_.length_penalty > 0;
    const double reachable = score_of(sums_[first], any_length ? limits_[source] : generated_);
    finished_[source] =
        static_cast<char>(config_.early_stopping == EarlyStopping::yes || reachable <= kept_[source].back().score);
  }
}

std::vector<Hypothesis> BeamSearch::best_of(size_t source) const { return kept_[source]; }

std::unique_ptr<Search> make_search(const GenerationConfig& config, std::vector<std::vector<int32_t>> prompts,
                                    int64_t vocabulary) {
  check(
      !config.do_sample || config.num_beams == 1,
      "draws (do_sample, or --seed, --temp, --top-k, --top-p, --min-p) from {} beams are not supported; take one beam "
      "(--beams 1), or the likeliest tokens (--temp 0)",
      config.num_beams);
  if (config.num_beams > 1) return std::make_unique<BeamSearch>(config, std::move(prompts), vocabulary);
  return std::make_unique<PlainSearch>(config, std::move(prompts), vocabulary);
}

}  // namespace vkformer
