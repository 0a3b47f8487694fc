#pragma once
// How well a model in training writes down what is said.

#include "models/data/speech_rows.h"
#include "models/transcription/transcriber.h"
#include "tools/cli/job_scorer.h"

namespace vkformer {

/// The word error rate, the share of exact matches, and a few samples, of greedy transcripts.
class SpeechScorer : public JobScorer {
 public:
  /// `most`: recordings of an evaluation that is not of the whole split, spread evenly. The model must outlive it.
  SpeechScorer(const Model& model, Tokenizer tokenizer, SpeechTokens tokens, const MelSettings& mel, SpeechRows rows,
               size_t most);

  std::vector<std::string> metrics() const override { return {"word_accuracy", "exact_match"}; }
  JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const override;

 private:
  const Model& model_;
  Tokenizer tokenizer_;
  SpeechTokens tokens_;
  MelSettings mel_;
  SpeechRows rows_;
  size_t most_;
};

}  // namespace vkformer
