#pragma once
// How good a model in training is at what it is trained for, beside its loss.

#include <nlohmann/json.hpp>

#include "models/training/trainer.h"

namespace vkformer {

struct JobScores {
  nlohmann::json values;  ///< numbers by their names, for metrics.jsonl and the report's JSON
  nlohmann::json notes;   ///< what else the report's JSON says; an object
  std::string text;       ///< lines to print
};

class JobScorer {
 public:
  virtual ~JobScorer() = default;
  /// Those of the values by which a best model can be told: more is better.
  virtual std::vector<std::string> metrics() const = 0;
  /// Whether all processes of the trainer's group call score(), each with its share of the work; otherwise process 0.
  virtual bool is_shared() const { return false; }
  /// Of the trainer's parameters as they are now, on a part of the validation split or the whole.
  virtual JobScores score(Backend& backend, Trainer& trainer, bool whole_split) const = 0;
};

}  // namespace vkformer
