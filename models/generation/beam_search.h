#pragma once
// Which token comes next for a batch of sequences, and when it is enough: greedy and beam search and draws on the host,
// with the results of Hugging Face's generate(). Neither knows the model; the caller runs it:
//
//   auto search = make_search(config, prompts, vocabulary);
//   for (logits = model(prompts); !search->done(); logits = model(step.tokens)) {
//     const SearchStep& step = search->advance(logits);   // logits [rows, V], or those of choices() tokens
//     reorder the caches: row r goes on from row step.parents[r]
//   }

#include <memory>
#include <optional>

#include "models/generation/logits_rules.h"
#include "models/generation/sampling.h"

namespace vkformer {

/// A finished sequence: prompt (or start id) in front, the end id last unless the limit came first; no padding.
struct Hypothesis {
  std::vector<int32_t> ids;
  /// Beam search: sum of log-probabilities / (generated tokens, end id included) ^ length_penalty. Otherwise: 0.
  double score = 0;
};

/// What each row does next. Rows of a source that is finished stay on themselves and get id 0.
struct SearchStep {
  std::vector<int32_t> parents;  ///< the row of the last step that it continues
  std::vector<int32_t> tokens;   ///< the token it appends
};

/// The natural logarithm of softmax over `logits`, in double. Throws Error, naming `row`, when there are NaNs, positive
/// infinities, or nothing above minus infinity.
void log_softmax(std::span<const float> logits, std::span<double> result, size_t row = 0);

class Search {
 public:
  virtual ~Search() = default;
  /// Rows of logits a step: sources times beams or draws, those of a source side by side. At first they all hold the
  /// source's prompt.
  int64_t rows() const { return static_cast<int64_t>(ids_.size()); }
  /// The ids of a row so far, prompt included.
  std::span<const int32_t> ids(int64_t row) const { return ids_[static_cast<size_t>(row)]; }
  /// How many of each row's tokens below usable(), the likeliest first, advance() needs to see; 0: all tokens.
  virtual int64_t choices() const { return 0; }
  /// What is known beforehand of the first row's text, of which so many tokens in front are left out.
  ExpectedText expected(int64_t dropped = 0) const;
  /// See LogitsRules::usable().
  int64_t usable() const { return rules_.usable(); }
  /// `source` ends after so many tokens, from 1 to what the config allows, however long the others may become.
  void limit(int64_t source, int64_t tokens);
  /// Draws follow the seed and their number: that of their source, at first its place, where these are some of many the
  /// one among all; with several draws of each source so many times that, and its own place among them.
  void set_number(int64_t source, uint64_t number) { numbers_.at(static_cast<size_t>(source)) = number; }
  /// Takes the logits [rows, V] that follow each row's last token, or, with their `ids` beside, those of the choices()
  /// likeliest ones or more, of equal ones the lower id first: [rows, choices()]; of several beams their
  /// log-probabilities instead. Throws Error when they have another size or are not numbers, or when the search is
  /// done.
  const SearchStep& advance(std::span<const float> logits, std::span<const int32_t> ids = {});
  bool done() const;
  /// For each source its best hypotheses, best first: num_return_sequences of them, or fewer where the rules leave no
  /// more. Throws Error before the search is done.
  std::vector<std::vector<Hypothesis>> results() const;

 protected:
  Search(const GenerationConfig& config, std::vector<std::vector<int32_t>> prompts, int64_t beams, int64_t vocabulary);
  /// Whether a row that nothing can follow may be all.
  bool is_whole(size_t row) const { return rules_.is_whole(ids_[row], generated_ - 1); }
  /// `wanted` and as many as the rules may ban, if they change no scores; else 0.
  int64_t choices_of(int64_t wanted) const;
  /// How the tokens of a search with one row are drawn; nothing: they are not.
  virtual std::optional<TextDraws> draws() const { return {}; }
  /// `ids`: the tokens of these logits; empty: each is its own number. Threads may take a source each.
  virtual void advance_source(size_t source, std::span<const float> logits, std::span<const int32_t> ids) = 0;
  /// The hypotheses of a source, best first.
  virtual std::vector<Hypothesis> best_of(size_t source) const = 0;

  GenerationConfig config_;
  size_t beams_;
  size_t vocabulary_;
  std::vector<int64_t> limits_;  ///< most tokens to generate, by source
  std::vector<uint64_t> numbers_;
  int64_t generated_ = 0;  ///< steps taken, the present one included
  LogitsRules rules_;
  std::vector<std::vector<int32_t>> ids_;  ///< by row
  std::vector<char> finished_;             ///< by source; bytes, which threads may write side by side
  SearchStep step_;
};

/// One row a source, one hypothesis: the largest logit, the lower id on a tie. With do_sample num_return_sequences of
/// them, in the order of their draws (see sample()), each of another stream, so that a batch changes nothing.
class PlainSearch final : public Search {
 public:
  PlainSearch(const GenerationConfig& config, std::vector<std::vector<int32_t>> prompts, int64_t vocabulary);
  /// One for the likeliest token, top_k for a draw from so many, and what rules may ban, where none changes scores.
  int64_t choices() const override;

 private:
  std::optional<TextDraws> draws() const override;
  void advance_source(size_t source, std::span<const float> logits, std::span<const int32_t> ids) override;
  /// The number of a row's first draw.
  uint64_t first_draw(size_t source, size_t row) const { return (numbers_[source] * beams_ + row % beams_) << 32; }
  SamplingSettings settings() const;
  void advance_row(size_t source, size_t row, std::span<const float> logits, std::span<const int32_t> ids);
  std::vector<Hypothesis> best_of(size_t source) const override;

  std::vector<char> ended_;  ///< by row
};

/// Beam search after `_beam_search` of transformers 5 (BeamSearchScorer before it differs only in that it may take one
/// step more where the best candidate has just ended). Each step ranks the continuations of a source's K beams by
/// accumulated log-probability and takes the best max(2, 1 + end ids) K. Those that end, by an end id or at the limit,
/// are hypotheses if they are among the best K; the best K others run on. The K hypotheses with the best scores are
/// kept. On equal scores the lower beam, then the lower id, then the earlier hypothesis goes first. One thing is
/// different: Hugging Face gives beams without a possible continuation a score near -1e9 and may return them; here they
/// are dropped. A source that has no possible continuation left ends as it is, in a plain search too.
class BeamSearch final : public Search {
 public:
  BeamSearch(const GenerationConfig& config, std::vector<std::vector<int32_t>> prompts, int64_t vocabulary);
  /// As many as a step ranks for a source, for all may come from one beam, and what rules may ban.
  int64_t choices() const override { return choices_of(static_cast<int64_t>(ranked())); }

 private:
  struct Candidate {
    double sum;
    size_t beam;
    int32_t token;
  };
  /// Continuations that a step ranks.
  size_t ranked() const { return std::max<size_t>(2, 1 + config_.eos_token_ids.size()) * beams_; }
  /// Log-probabilities of what may continue a row: of `ids`, or of all tokens in their order, which are not named then.
  void score(size_t row, std::span<const float> logits, std::span<const int32_t> ids, ScoredTokens& scored) const;
  /// `ended`: the beams that nothing can follow.
  std::vector<Candidate> candidates(size_t source, std::span<const float> logits, std::span<const int32_t> ids,
                                    std::vector<size_t>& ended) const;
  void keep(size_t source, Hypothesis hypothesis);
  double score_of(double sum, int64_t length) const;
  void advance_source(size_t source, std::span<const float> logits, std::span<const int32_t> ids) override;
  std::vector<Hypothesis> best_of(size_t source) const override;

  std::vector<double> sums_;                   ///< log-probability by row; minus infinity: the row holds no beam
  std::vector<std::vector<Hypothesis>> kept_;  ///< by source, best first
};

/// Throws Error when there is no prompt, one is empty or has an id outside the vocabulary.
void check_prompts(const std::vector<std::vector<int32_t>>& prompts, int64_t vocabulary);

/// Beam search when num_beams is above 1, else a plain one. `prompts`: of each source its prompt or the decoder's start
/// id. With unequal lengths max_length and min_length count from the longest, as if the others were padded on the left.
/// Throws Error like check_prompts, when num_return_sequences is above num_beams and nothing is drawn, for draws with
/// beams, and for ids in `config` that the vocabulary lacks.
std::unique_ptr<Search> make_search(const GenerationConfig& config, std::vector<std::vector<int32_t>> prompts,
                                    int64_t vocabulary);

}  // namespace vkformer
