#pragma once
// The loop of `vkformer train`: iterations, metrics, evaluations, checkpoints, until the end, a signal or a divergence.

#include <functional>

#include "runtime/check.h"
#include "tools/cli/best_checkpoint.h"
#include "tools/cli/evaluation.h"
#include "tools/cli/metrics.h"
#include "tools/cli/progress.h"
#include "tools/cli/train_state.h"

namespace vkformer {

class TrainRun {
 public:
  /// All must outlive it. `trainer` has the weights of state.iteration.
  TrainRun(TrainFlags& flags, const TrainJob& job, Backend& backend, Trainer& trainer, RunState state);

  /// To the last iteration, or to SIGINT, SIGTERM or SIGHUP, which end it with a checkpoint. Throws Error when the
  /// training diverges: then the last checkpoint is one that a finite iteration followed, if there ever was one, and
  /// the message says what to do. So does that of DeviceLost.
  void train();

 private:
  void train_to_end();
  void iterate();
  void say_if_rate_jumps() const;
  void say_if_fewer_are_kept() const;
  /// After the last iteration and its checkpoint.
  void finish();
  void save();
  void prove();
  void in_place(const std::function<void()>& write);
  void flush();
  /// Whether the run goes on after a batch that left the range of f16.
  bool forgives_overflow(const std::string& what);
  /// Evaluates. False when the loss there is beyond f16.
  bool report(double loss, bool whole_split);
  void show(nlohmann::json row, const std::string& head, const Evaluation& evaluation, bool even_if_quiet);
  bool evaluated() const;
  /// Whether --early-stopping ends the run here.
  bool stops_early() const;
  /// Whether --minutes does.
  bool out_of_time() const;
  void report_speed() const;
  void say_what_next() const;
  void keep_if_best(const nlohmann::json& row);
  /// RUN/average and its evaluation.
  void average();
  std::string way_on() const;
  [[noreturn]] void lose_device(const DeviceLost& lost);
  [[noreturn]] void diverge(const std::string& what);
  /// Loss of the weights as they are now; f16's says nothing of weights: see forgives_overflow().
  void check_loss(const char* what, double loss);

  TrainFlags& flags_;
  const TrainJob& job_;
  const TrainingData& data_;
  Backend& backend_;
  Trainer& trainer_;
  RunState state_;
  int64_t first_;                 ///< iteration it began at
  std::optional<int64_t> saved_;  ///< iteration of the last checkpoint
  bool proven_ = false;           ///< a finite iteration has followed it
  CheckpointWriter writer_;
  std::unique_ptr<BestCheckpoint> best_;   ///< with --keep-best, --early-stopping or --average-best
  std::unique_ptr<BestCheckpoints> good_;  ///< with --average-best
  Metrics metrics_;
  Progress progress_;
  int64_t overflows_ = 0;         ///< iterations that left the range of f16
  int64_t overflows_in_row_ = 0;  ///< the last of them
  double started_ = 0;
  double next_save_ = 0;  ///< no checkpoint is due before this time
  int64_t tokens_ = 0;    ///< trained on since then
  double spent_ = 0;      ///< seconds of that, without evaluations and checkpoints
};

}  // namespace vkformer
