#pragma once
// The loop of `vkformer train`: iterations, metrics, evaluations, checkpoints, until the end, a signal or a divergence.

#include "tools/cli/metrics.h"
#include "tools/cli/progress.h"
#include "tools/cli/text_data.h"
#include "tools/cli/train_state.h"

namespace vkformer {

class TrainRun {
 public:
  /// All must outlive it. `trainer` has the weights of state.iteration.
  TrainRun(TrainFlags& flags, const Model& model, const Vocabulary& vocabulary, Trainer& trainer, const TextData& text,
           RunState state);

  /// To the last iteration, or to SIGINT, SIGTERM or SIGHUP, which end it with a checkpoint. Throws Error when the
  /// training diverges: then the last checkpoint is one that a finite iteration followed, if there ever was one, and
  /// the message says what to do.
  void train();

 private:
  void iterate();
  void save();
  void prove();
  void report(double loss, bool whole_split);
  bool evaluated() const;
  double validation_loss(int64_t windows);
  [[noreturn]] void diverge(const std::string& what);
  /// Loss of the weights as they are now.
  void check_loss(const char* what, double loss);

  TrainFlags& flags_;
  const Model& model_;
  const Vocabulary& vocabulary_;
  Trainer& trainer_;
  const TextData& text_;
  RunState state_;
  int64_t first_;                 ///< iteration it began at
  std::optional<int64_t> saved_;  ///< iteration of the last checkpoint
  bool proven_ = false;           ///< a finite iteration has followed it
  CheckpointWriter writer_;
  Metrics metrics_;
  Progress progress_;
  double started_ = 0;
};

}  // namespace vkformer
