#pragma once
// How well a model in training translates what it is not trained on.

#include "models/text/tokenizer.h"
#include "tools/cli/job_scorer.h"
#include "tools/cli/pair_text.h"

namespace vkformer {

/// BLEU and chrF2 in percent, the share of exact matches, and a few samples, of greedy translations.
class PairScorer : public JobScorer {
 public:
  /// Of tokens: what a decoder begins with, what it is made to write first, if anything, and its last one.
  struct Ids {
    int32_t decoder_start = 0;
    std::optional<int32_t> forced_first;
    int32_t end = 0;
  };
  /// `most`: lines of an evaluation that is not of the whole split, spread evenly. The model must outlive it.
  PairScorer(const Model& model, Tokenizer source, Tokenizer target, TextPairs pairs, const Ids& ids, size_t most);

  std::vector<std::string> metrics() const override { return {"bleu", "chrf", "exact_match"}; }
  bool is_shared() const override { return true; }
  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  /// Greedy translations, of all processes.
  std::vector<std::string> translate(Backend& backend, Trainer& trainer, std::span<const std::string> sources) const;

  const Model& model_;
  Tokenizer source_, target_;
  TextPairs pairs_;
  Ids ids_;
  size_t most_;
};

}  // namespace vkformer
