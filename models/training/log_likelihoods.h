#pragma once
// How likely a model in training takes whole texts to be.

#include "models/data/preference_data.h"
#include "models/training/trainer.h"

namespace vkformer {

class LogLikelihoods {
 public:
  /// By the trainer's parameters as they are then, computed as its steps are. Both must outlive it.
  LogLikelihoods(Backend& backend, Trainer& trainer) : backend_(backend), trainer_(trainer) {}

  /// The sum over each row's "labels" that are not ignored, of a batch with "ids", [B]. A program is recorded for each
  /// shape. Throws Error for ids the model has not.
  std::vector<float> of(const DataBatch& batch);

 private:
  Program& program(const BatchShape& shape);

  Backend& backend_;
  Trainer& trainer_;
  std::vector<std::pair<BatchShape, std::unique_ptr<Program>>> programs_;
};

/// Sets the data's reference by the trainer's model as it stands: what it is compared with from then on. `tell`: how
/// many pairs are done. Throws Error for likelihoods that are no numbers.
void measure_reference(PreferenceData& data, Backend& backend, Trainer& trainer,
                       const std::function<void(int64_t pairs)>& tell);

}  // namespace vkformer
