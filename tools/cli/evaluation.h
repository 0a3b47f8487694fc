#pragma once
// How a model in training does on what it is not trained on: its loss there, and the scores of its job.

#include "tools/cli/train_job.h"

namespace vkformer {

struct Evaluation {
  /// For metrics.jsonl: "validation_loss", "perplexity", "bits_per_byte", scores by their names, "samples"; null
  /// without a validation split.
  nlohmann::json row;
  double loss = 0;    ///< also NaN
  std::string brief;  ///< behind the training loss, on its line
  std::string text;   ///< further lines
};

/// Of the trainer's parameters as they are now; on the whole validation split or on `batches` batches of it, with
/// progress unless `quiet`. Throws Interrupted once the end was asked for.
Evaluation evaluate(const TrainJob& job, Backend& backend, Trainer& trainer, bool whole_split, int64_t batches,
                    bool quiet);

}  // namespace vkformer
